/** What is stored where, in words for whoever has just started the service. */
import { isAbsolute, relative } from 'node:path';
import type { Place } from './open-store.ts';

export interface Whereabouts {
  /** Where the service's own rows are. */
  readonly file: string;
  /** Where the keys' digests are. */
  readonly keys: Place;
  /** Where the pepper came from. */
  readonly pepper: string;
}

/** A path as one would type it here. */
export function shownPath(path: string): string {
  return relative(process.cwd(), path) || '.';
}

/** Whether the folder contains all of the service's data. */
export function isWhole({ keys }: Pick<Whereabouts, 'keys'>, folder: string): boolean {
  if (keys.kind !== 'file') return false;
  const path = relative(folder, keys.path);
  return !isAbsolute(path) && !path.startsWith('..');
}

const STOP = 'Stop: Ctrl-C';

/**
 * What is stored where. Starting afresh is offered only if keys and pepper are deleted together:
 * keys that stay in a database without their pepper no longer work.
 */
export function whereabouts(stored: Whereabouts, folder: string): string {
  const { keys, pepper } = stored;
  const rows = shownPath(stored.file);
  if (keys.kind === 'memory') {
    const where = `Keys: in memory, until it stops. The service's own rows: ${rows}.`;
    return `${where} Pepper: ${pepper}.\n${STOP}`;
  }
  const digests = keys.kind === 'file' ? shownPath(keys.path) : keys.name;
  const isOneFile = digests === rows;
  const where = isOneFile ? `Database: ${rows}` : `Rows of the service: ${rows}. Keys: ${digests}`;
  const all = `${where} (digests of keys, never keys). Pepper: ${pepper}.`;
  if (isWhole(stored, folder)) return `${all}\n${STOP}. Start afresh: rm -r ${shownPath(folder)}`;
  const warning =
    'Keep the pepper: without it none of these keys works any more, wherever they are.';
  return `${all}\n${warning}\n${STOP}`;
}
