/** Where a part of `listChanged` begins. */
import type { ChangedKey, ChangedQuery } from '../core/store.js';

/** Not before any other. */
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** The position that all keys of a part follow, by their time and then by their id. */
export function readChangesStart({ since, after }: ChangedQuery): ChangedKey {
  const isWithin = after !== null && after !== undefined && after.changedAt >= since;
  // Otherwise the last position in the millisecond before.
  return isWithin ? after : { changedAt: since - 1, keyId: LAST_ID };
}
