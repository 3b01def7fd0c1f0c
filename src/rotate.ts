/**
 * Replaces a key by a successor with the same rights. No transaction and no lock: insert the successor, retire
 * the predecessor with one conditional write, and only then hand out the plaintext. Whatever fails in between
 * leaves one usable key that somebody holds, never none through a crash before the write, never two.
 */
import type { Authority } from './authority.js';
import { checkAuthority } from './authority.js';
import { AccessError } from './errors.js';
import type { KeyringEvent } from './events.js';
import { expect, expiry, fields, isUuid, quote, whole } from './input.js';
import type { Mint } from './issue.js';
import type { Clock } from './outage.js';
import type { Principal } from './principal.js';
import type { KeyRecord } from './record.js';
import { IssuedKey, toKeyInfo } from './record.js';
import type { KeyStore } from './store.js';

/** How a rotation goes. */
export interface RotateInput {
  /** How long the old key lives on, in milliseconds: 0 ends it at once; at most a year. Never extends its expiry. */
  readonly overlapMs: number;
  /** The successor's expiry; left out, it is the predecessor's. */
  readonly expiresAt?: Date | 'never' | undefined;
}

const YEAR_MS = 365 * 24 * 3_600_000;

export interface RotateOptions {
  readonly store: KeyStore;
  readonly clock: Clock;
  readonly mint: Mint;
  /** Verify's steps from seal to expired. */
  readonly admit: (record: KeyRecord) => Principal;
  readonly emit: (event: KeyringEvent) => void;
}

export function createRotate(options: RotateOptions) {
  const { store, clock, mint, admit, emit } = options;
  return async (keyId: string, input: RotateInput, authority: Authority): Promise<IssuedKey> => {
    const { entityUuid, ceiling } = checkAuthority(authority);
    const given = fields(input, ['overlapMs', 'expiresAt'], 'rotate');
    const overlapMs = whole(given.overlapMs, 0, YEAR_MS, 'overlapMs');
    expect(typeof keyId === 'string', `keyId: pass a string, not ${quote(keyId)}`);
    const now = clock();
    const expires = given.expiresAt === undefined ? undefined : expiry(given.expiresAt, now);

    const old = isUuid(keyId) ? await store.findById(keyId) : null;
    if (old?.entityUuid !== entityUuid) throw new AccessError('not_found', 'no_such_key');
    // What would not authenticate is not rotated: a tampered row must not be sealed again as genuine.
    admit(old);
    ceiling(old.scopes, old.accessibleEntities);

    const expiresAt = expires === undefined ? old.expiresAt : expires;
    const { key, record } = mint({ ...old, createdAt: now, expiresAt, rotatedFrom: keyId });
    await store.insert(record);
    const retireAt = now + overlapMs;
    if (!(await store.markEnded(keyId, { retireAt }))) {
      // Somebody was faster. The successor's plaintext exists only here, and ends here.
      await store.markEnded(record.keyId, { revokedAt: now });
      throw new AccessError('conflict', 'already_ended', { keyId });
    }
    emit({
      type: 'key.rotated',
      time: now,
      keyId: record.keyId,
      entityUuid,
      rotatedFrom: keyId,
      retireAt,
    });
    return new IssuedKey(key, toKeyInfo(record));
  };
}
