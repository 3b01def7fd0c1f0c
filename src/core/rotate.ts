/**
 * Replaces a key by a successor with the same rights. No transaction and no lock: insert the
 * successor, retire the predecessor with one conditional write, and only then return the plaintext.
 * A crash before that write leaves the predecessor unchanged, and a successor whose plaintext is
 * lost. After a crash that follows it, the predecessor works until its `retireAt`.
 */
import { type CheckedAuthority, requireCeiling } from './authority.js';
import type { Context } from './context.js';
import { AccessError } from './errors.js';
import { requireOwn } from './find.js';
import type { IssuedKey } from './info.js';
import { readExpiry, readFields, readInteger } from './input.js';
import { mint } from './mint.js';
import { requireLive, requireRecord } from './verify.js';

/** How to rotate. */
export interface RotateInput {
  /**
   * How long the old key still works, in milliseconds; 0 ends it at once, the maximum is a year
   * (365 days), and its own expiry still applies.
   */
  readonly overlapMs: number;
  /** The successor's; by default the predecessor's. */
  readonly expiresAt?: Date | 'never' | undefined;
}

const MAX_OVERLAP_MS = 365 * 24 * 3_600_000;

export async function rotate(
  context: Context,
  authority: CheckedAuthority,
  keyId: string,
  input: RotateInput,
): Promise<IssuedKey> {
  const { store } = context;
  const { overlapMs, expiresAt: asked } = readFields(input, ['overlapMs', 'expiresAt'], 'rotate');
  const time = context.clock();
  const retireAt = time + readInteger(overlapMs, 0, MAX_OVERLAP_MS, 'overlapMs');
  const newExpiry = asked === undefined ? undefined : readExpiry(asked, time);

  const old = requireRecord(await requireOwn(context, authority, keyId));
  // The steps of `verify` from seal to expiry: a key that would not authenticate is not rotated,
  // and a tampered row is not sealed again.
  requireLive(context, old);
  requireCeiling(authority, old);
  // Already rotated and in its overlap: the write below would detect it too, but leave a revoked
  // successor behind.
  if (old.retireAt !== null) throw new AccessError('conflict', 'already_ended', { keyId });

  const expiresAt = newExpiry === undefined ? old.expiresAt : newExpiry;
  const issued = await mint(context, { ...old, createdAt: time, expiresAt, rotatedFrom: keyId });
  const successor = issued.info.keyId;
  const wrote = await store.markEnded(keyId, { retireAt });
  if (!wrote) {
    // Another call was faster. Nobody has the successor's plaintext, so end the successor.
    await store.markEnded(successor, { revokedAt: time });
    throw new AccessError('conflict', 'already_ended', { keyId });
  }
  const { entityUuid } = authority;
  const common = { time, keyId: successor, entityUuid };
  context.emit?.({ type: 'key.rotated', ...common, rotatedFrom: keyId, retireAt });
  return issued;
}
