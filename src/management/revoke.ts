/**
 * Ends keys immediately and for good. Keys cannot be un-revoked or deleted, so you can always look
 * up the keys in an audit log.
 */
import type { Context } from '../core/context.js';
import type { FoundMark } from '../core/events.js';
import type { KeyRecord } from '../core/record.js';
import { sealOf } from '../core/seal.js';
import type { RevokeMark } from '../core/store.js';
import { schemeOf } from '../core/verify.js';
import type { CheckedAuthority } from './authority.js';
import { hasEnded, voucherOf } from './ended.js';
import { requireOwn } from './find.js';
import { markUntil } from './mark.js';
import { tell } from './trail.js';

export async function revoke(
  context: Context,
  authority: CheckedAuthority,
  keyId: string,
): Promise<void> {
  const row = await requireOwn(context, authority, keyId);
  await revokeRow(context, authority, row);
}

/** Revokes a key whose row was read, and emits the event. Returns false if it had ended before. */
export async function revokeRow(
  context: Context,
  authority: CheckedAuthority,
  row: KeyRecord,
): Promise<boolean> {
  if (hasEnded(context, row)) return false;
  const wrote = await endRow(context, authority, row);
  if (wrote === null || keepsEnd(context, wrote.row)) return false;
  const event = { type: 'key.revoked', ...foundIn(wrote.row) } as const;
  tell(context, authority, row, wrote.mark.at, event);
  return true;
}

/** Returns the mark of revocation that an unchecked row had before it was revoked. */
function foundIn(row: KeyRecord): { readonly found?: FoundMark } {
  const { revokedAt, endedBy, endReason }: { readonly [F in keyof KeyRecord]: unknown } = row;
  if (revokedAt === null) return {};
  const found: FoundMark = {
    revokedAt: typeof revokedAt === 'number' ? revokedAt : null,
    endedBy: typeof endedBy === 'string' ? endedBy : null,
    endReason: typeof endReason === 'string' ? endReason : null,
  };
  return { found: Object.freeze(found) };
}

/** Revokes a key that has not ended, without an event. Returns null if another call was faster. */
export function endRow(
  context: Context,
  authority: CheckedAuthority,
  row: KeyRecord,
): ReturnType<typeof markUntil<RevokeMark>> {
  return markUntil(
    context,
    row,
    (now) => hasEnded(context, now),
    (now) => revocationOf(context, authority, now),
  );
}

/**
 * Checks whether a row stays as it is, except that its seal becomes null: it is marked as revoked
 * and its pepper is gone, so nobody can check the seal any more.
 */
function keepsEnd(context: Context, row: KeyRecord): boolean {
  return row.revokedAt !== null && voucherOf(context, row) === 'orphaned';
}

/**
 * Makes the mark that revokes a key now, with the seal that proves it. A row that is marked already
 * keeps its time, and is revoked only if its seal is still the one that was read.
 */
function revocationOf(context: Context, { said }: CheckedAuthority, row: KeyRecord): RevokeMark {
  const at = context.clock();
  const { revokedAt, endedBy, endReason } = row;
  const kept = { by: endedBy, reason: endReason };
  const { by, reason } = keepsEnd(context, row) ? kept : said;
  const end = { revokedAt: revokedAt ?? at, endedBy: by, endReason: reason };
  const seal = revocationSeal(context, row, end);
  const replaces = revokedAt === null ? null : row.seal;
  return { kind: 'revoke', at, by, reason, seal, replaces };
}

type End = Pick<KeyRecord, 'revokedAt' | 'endedBy' | 'endReason'>;

/** Returns null unless a live seal vouches for the row: an edited row must not be sealed now. */
function revocationSeal(context: Context, row: KeyRecord, end: End): string | null {
  if (voucherOf(context, row) !== 'alive') return null;
  const scheme = schemeOf(context, row);
  return scheme === undefined ? null : sealOf({ ...row, ...end }, scheme);
}
