/** The sentences that say where the service stores its data. */
import { relative } from 'node:path';

export interface Whereabouts {
  /** The file with the service's own rows. */
  readonly file: string;
  /** The place of the keys' digests: that file, the store from `--store`, or memory. */
  readonly keys: 'file' | 'store' | 'memory';
  /** The source of the pepper, in words. */
  readonly pepper: string;
}

/** Returns a path relative to the working directory. */
export function shownPath(path: string): string {
  return relative(process.cwd(), path) || '.';
}

const STOP = 'Stop: Ctrl-C';

/**
 * Returns the sentences. They say how to start over only if that deletes keys and pepper together,
 * because keys without their pepper no longer work. They do not repeat the address of a store,
 * which may contain a password.
 */
export function whereabouts({ file, keys, pepper }: Whereabouts, folder: string): string {
  const rows = shownPath(file);
  if (keys === 'file') {
    const all = `Database: ${rows} (digests of keys, never keys). Pepper: ${pepper}.`;
    return `${all}\n${STOP}. Start over: rm -r ${shownPath(folder)}`;
  }
  const others = `The service's own rows: ${rows}. Pepper: ${pepper}.`;
  if (keys === 'memory') return `Keys: in memory, until you stop it. ${others}\n${STOP}`;
  return `Keys: in the store that you named (digests, never keys). ${others}
Keep the pepper: without it, these keys stop working.
${STOP}`;
}
