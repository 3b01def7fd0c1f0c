/**
 * Loads a peer by its name. Peers are installed in this folder, so only a file in it finds them;
 * cases whose peer is missing are skipped. Callers type what they use, because types must hold
 * without the peers too.
 */
export const load = (name: string): Promise<unknown> => import(name);

/**
 * For `catch`: null where a package is not installed, which is said; whatever else failed goes on
 * failing.
 */
export function missing(error: unknown): null {
  const { code, message } = error as { readonly code?: unknown; readonly message: string };
  if (code !== 'ERR_MODULE_NOT_FOUND') throw error;
  console.log(`skipped: ${message.split('\n')[0]}; npm run setup bench/peers installs it`);
  return null;
}
