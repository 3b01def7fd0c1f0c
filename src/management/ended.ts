/** Decides whether a key has ended for good. A mark is only a claim; the seal proves it. */
import type { Context } from '../core/context.js';
import { type KeyRecord, type KeyState, readRecord } from '../core/record.js';
import { isSealed, isSealedAlive } from '../core/seal.js';
import { schemeOf, stateOf } from '../core/verify.js';

/** The states in which a key will never work again. */
export const ENDED: readonly KeyState[] = ['revoked', 'retired', 'expired'];

/**
 * The proof of the fields of a row that never change. `alive`: the seal from before any revocation,
 * whatever marks the row has now; without a pepper, the absence of a seal. `revocation`: the seal
 * written by the revocation. `orphaned`: the pepper is gone. `nothing`: the row was edited, or this
 * release cannot read it.
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
 * Checks whether an unchecked row is marked as revoked and its seal is the one of the revocation,
 * or gone. A seal is gone if it is null, or a text with characters that no seal has, because no
 * store can be asked to replace that one. Under any other seal, clearing the mark could revive the
 * key.
 */
export function hasEnded(context: Context, row: KeyRecord): boolean {
  const { revokedAt = null, seal } = row;
  if (revokedAt === null) return false;
  const isGone = seal === null || /[^ -~]/.test(seal);
  return isGone || voucherOf(context, row) === 'revocation';
}

/** Returns the state of a key as management shows it. */
export function shownState(context: Context, record: KeyRecord): KeyState {
  if (record.revokedAt === null || hasEnded(context, record)) return stateOf(context, record);
  return voucherOf(context, record) === 'orphaned' ? 'orphaned' : 'damaged';
}
