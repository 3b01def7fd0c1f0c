/**
 * Replaces a key by a successor with the same rights. No transaction and no lock: insert the successor, retire
 * the predecessor with one conditional write, and only then hand out the plaintext. A crash before
 * that write leaves the predecessor as it was, beside a successor whose key nobody has; a crash after it leaves the
 * predecessor until its `retireAt`.
 */
import { type Authority, checkAuthority, requireCeiling } from './authority.js';
import { type Admit, type Context, findOwn, mint, readRow } from './context.js';
import { AccessError } from './errors.js';
import { expiry, fields, whole } from './input.js';
import { IssuedKey } from './record.js';

/**
 * How a rotation goes. `overlapMs`: how long the old key lives on, in milliseconds; 0 ends it at once, a year is the
 * most, and its own expiry holds all the same. `expiresAt`: the successor's; left out, it is the predecessor's.
 */
export type RotateInput = { readonly overlapMs: number; readonly expiresAt?: Date | 'never' | undefined };

const YEAR_MS = 365 * 24 * 3_600_000;

export async function rotate(
  context: Context,
  admit: Admit,
  keyId: string,
  input: RotateInput,
  authority: Authority,
): Promise<IssuedKey> {
  const { store, clock, emit } = context;
  const by = checkAuthority(authority);
  const given = fields(input, ['overlapMs', 'expiresAt'], 'rotate');
  const now = clock();
  const retireAt = now + whole(given.overlapMs, 0, YEAR_MS, 'overlapMs');
  const expires = given.expiresAt === undefined ? undefined : expiry(given.expiresAt, now);

  const row = await findOwn(context, keyId, by);
  if (row === null) throw new AccessError('not_found', 'no_such_key');
  const old = readRow(row);
  // Verify's steps from seal to expired: what would not authenticate is not rotated, nor a tampered row sealed anew.
  admit(old);
  requireCeiling(by, old);
  // Already rotated, and in its overlap: the write below would say so too, but leave a revoked successor behind.
  if (old.retireAt !== null) throw new AccessError('conflict', 'already_ended', { keyId });

  const expiresAt = expires === undefined ? old.expiresAt : expires;
  const [key, record] = mint(context, { ...old, createdAt: now, expiresAt, rotatedFrom: keyId });
  await store.insert(record);
  if (!(await store.markEnded(keyId, { retireAt }))) {
    // Somebody was faster. The successor's plaintext exists only here, and ends here.
    await store.markEnded(record.keyId, { revokedAt: now });
    throw new AccessError('conflict', 'already_ended', { keyId });
  }
  const { entityUuid } = by;
  emit({ type: 'key.rotated', time: now, keyId: record.keyId, entityUuid, rotatedFrom: keyId, retireAt });
  return new IssuedKey(key, record);
}
