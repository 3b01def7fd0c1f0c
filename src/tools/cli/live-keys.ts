/** Goes through the keys of all organizations that could be in use: one page is in memory. */
import { isObject } from '../../core/input.js';
import type { KeyRecord } from '../../core/record.js';
import type { KeyStore, Slice } from '../../core/store.js';
import { CommandError } from './command-error.js';

/** As many as are read at once. */
const PAGE = 1000;

/**
 * Yields the keys that were neither ended nor suspended, and have not expired.
 *
 * Not checked: seals and peppers, so a row that was edited is among them.
 */
export async function* livePagesOf(store: KeyStore): AsyncGenerator<readonly KeyRecord[]> {
  if (store.listAll === undefined) {
    throw new CommandError('refused', 'The store cannot list its keys: leave out --keys.');
  }
  const now = Date.now();
  let after: Slice<KeyRecord>['next'] = null;
  do {
    const slice: Slice<KeyRecord> = await store.listAll({ after, limit: PAGE }, { fresh: true });
    yield slice.items.filter((row) => isObject(row) && isLive(row, now));
    after = slice.next;
  } while (after !== null);
}

function isLive(row: KeyRecord, now: number): boolean {
  const { revokedAt, suspendedAt, retireAt, expiresAt } = row;
  const isEnding = (time: number | null): boolean => time !== null && time <= now;
  return revokedAt === null && suspendedAt === null && !isEnding(retireAt) && !isEnding(expiresAt);
}
