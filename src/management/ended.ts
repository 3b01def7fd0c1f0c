/** Whether a key has ended for good: a mark is only a claim, and the seal says what it is worth. */
import type { Context } from '../core/context.js';
import { type KeyRecord, type KeyState, readRecord } from '../core/record.js';
import { isSealed, isSealedAlive } from '../core/seal.js';
import { schemeOf, stateOf } from '../core/verify.js';

/**
 * What vouches for the fields of a row that never change. `alive`: the seal that the key had before
 * it was revoked, whatever marks the row has now; without a pepper, its absence. `revocation`: the
 * seal that came with the revocation. `orphaned`: the pepper is gone. `nothing`: somebody edited
 * the row, or this release cannot read it.
 */
export type Voucher = 'alive' | 'revocation' | 'orphaned' | 'nothing';

export function voucherOf(context: Context, row: KeyRecord): Voucher {
  const record = readRecord(row);
  if (record?.prefix !== context.format.prefix) return 'nothing';
  const scheme = schemeOf(context, record);
  if (scheme === undefined) return 'orphaned';
  if (isSealedAlive(record, scheme)) return 'alive';
  return isSealed(record, scheme) ? 'revocation' : 'nothing';
}

/**
 * Whether an unchecked row is marked as revoked, and its seal is that of the revocation, or gone:
 * null, or a text that is none, which no store can be asked to replace. Under any other seal, the
 * key could live again without the mark.
 */
export function hasEnded(context: Context, row: KeyRecord): boolean {
  const { revokedAt = null, seal } = row;
  if (revokedAt === null) return false;
  const isGone = seal === null || /[^ -~]/.test(seal);
  return isGone || voucherOf(context, row) === 'revocation';
}

/** The state of a key as management shows it. */
export function shownState(context: Context, record: KeyRecord): KeyState {
  if (record.revokedAt === null || hasEnded(context, record)) return stateOf(context, record);
  return voucherOf(context, record) === 'orphaned' ? 'orphaned' : 'damaged';
}
