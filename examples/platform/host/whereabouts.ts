/** What is stored where, in words for whoever has just started the service. */
import { relative } from 'node:path';

export interface Whereabouts {
  /** The file with the service's own rows. */
  readonly file: string;
  /** Where the digests of keys are: in that file, in a store that was named, or in memory. */
  readonly keys: 'file' | 'store' | 'memory';
  /** Where the pepper came from. */
  readonly pepper: string;
}

/** A path as one would type it here. */
export function shownPath(path: string): string {
  return relative(process.cwd(), path) || '.';
}

const STOP = 'Stop: Ctrl-C';

/**
 * What is stored where. Starting afresh is offered only if keys and pepper are deleted together:
 * keys that stay in a database without their pepper no longer work. The address of a store is not
 * repeated, because it may contain a password.
 */
export function whereabouts({ file, keys, pepper }: Whereabouts, folder: string): string {
  const rows = shownPath(file);
  if (keys === 'file') {
    const all = `Database: ${rows} (digests of keys, never keys). Pepper: ${pepper}.`;
    return `${all}\n${STOP}. Start afresh: rm -r ${shownPath(folder)}`;
  }
  const others = `The service's own rows: ${rows}. Pepper: ${pepper}.`;
  if (keys === 'memory') return `Keys: in memory, until it stops. ${others}\n${STOP}`;
  return `Keys: in the store that you named (digests, never keys). ${others}
Keep the pepper: without it none of these keys works any more.
${STOP}`;
}
