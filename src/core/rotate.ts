/**
 * Replaces a key by a successor with the same rights. No transaction and no lock: insert the
 * successor, retire the predecessor with one conditional write, and only then return the plaintext.
 * A crash before that write leaves the predecessor unchanged, and a successor whose key nobody has;
 * a crash after it leaves the predecessor until its `retireAt`.
 */
import {
  type CheckedAuthority,
  type Context,
  mint,
  requireCeiling,
  requireOwn,
} from './context.js';
import { AccessError } from './errors.js';
import { readExpiry, readFields, readInteger } from './input.js';
import { type IssuedKey, readRow } from './record.js';
import { requireLive } from './verify.js';

/**
 * How to rotate. `overlapMs`: how long the old key still works, in milliseconds; 0 ends it at once,
 * the maximum is a year (365 days), and its own expiry still applies. `expiresAt`: the successor's;
 * by default the predecessor's.
 */
export type RotateInput = {
  readonly overlapMs: number;
  readonly expiresAt?: Date | 'never' | undefined;
};

export async function rotate(
  context: Context,
  by: CheckedAuthority,
  keyId: string,
  input: RotateInput,
): Promise<IssuedKey> {
  const { store, clock, emit } = context;
  const { overlapMs, expiresAt } = readFields(input, ['overlapMs', 'expiresAt'], 'rotate');
  const time = clock();
  const retireAt = time + readInteger(overlapMs, 0, 365 * 24 * 3_600_000, 'overlapMs');
  const changed = expiresAt === undefined ? {} : { expiresAt: readExpiry(expiresAt, time) };

  const old = readRow(await requireOwn(context, by, keyId));
  // Verify's steps from seal to expired: a key that would not authenticate is not rotated, nor a
  // tampered row resealed.
  requireLive(context, old);
  requireCeiling(by, old);
  // Already rotated and in its overlap: the write below would detect it too, but leave a revoked
  // successor behind.
  if (old.retireAt !== null) throw new AccessError('conflict', 'already_ended', { keyId });

  const issued = await mint(context, { ...old, ...changed, createdAt: time, rotatedFrom: keyId });
  const successor = issued.info.keyId;
  if (!(await store.markEnded(keyId, { retireAt }))) {
    // Another call was faster. The successor's plaintext exists only here, and ends here.
    await store.markEnded(successor, { revokedAt: time });
    throw new AccessError('conflict', 'already_ended', { keyId });
  }
  emit?.({
    type: 'key.rotated',
    time,
    keyId: successor,
    entityUuid: by.entityUuid,
    rotatedFrom: keyId,
    retireAt,
  });
  return issued;
}
