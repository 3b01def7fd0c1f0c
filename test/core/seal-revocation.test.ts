import type { KeyRecord } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { revokedText } from '../../src/core/seal.js';
import { readPeppers } from '../../src/core/secret.js';
import {
  AUTHORITY,
  denied,
  HOUR,
  issue,
  OTHER,
  PEPPER,
  type Ring,
  rowOf,
  START,
  setUp,
  tampering,
} from '../support/keyring.ts';

const [SCHEME] = readPeppers([PEPPER], { prefix: 'acme', deployment: '' });
const ACTING = { ...AUTHORITY, actor: 'ada@acme.example', reason: 'left the company' } as const;

type Edit = (row: KeyRecord) => object;

describe('the seal of a revoked key', () => {
  /** A revoked key, and the same row after an attacker with write access edited it. */
  async function revoked(edit: Edit, peppers: 'none' | undefined = undefined) {
    const options = peppers === undefined ? {} : { peppers };
    const store = memoryStore();
    const before = setUp({ ...options, store });
    const { key, info } = await issue(before.keyring);
    const live = await rowOf(store, info.keyId);
    before.clock.advance(5);
    await before.keyring.revoke(info.keyId, ACTING);
    const edited = tampering(store, (row) => ({ ...row, ...edit(live) }));
    return { ...setUp({ ...options, store: edited }), key, info, live, store };
  }

  const shown = (keyring: Ring, keyId: string) => keyring.get(keyId, AUTHORITY);

  it('has a separate secret, and vouches for who revoked the key, when and why', async () => {
    const { key, info, live, store, keyring } = await revoked(() => ({}));
    const row = await rowOf(store, info.keyId);
    expect(row.seal).toMatch(/^[0-9a-f]{64}$/);
    expect(row.seal).not.toBe(live.seal);
    expect(row.seal).toBe(SCHEME.revocationSeal?.(revokedText(row)));
    expect(row.seal).not.toBe(SCHEME.seal?.(revokedText(row)));
    expect(row).toMatchObject({
      revokedAt: START + 5,
      endedBy: 'ada@acme.example',
      endReason: 'left the company',
    });
    await denied(() => keyring.verify(key), 'invalid_token', 'revoked');
    expect(await shown(keyring, info.keyId)).toMatchObject({ state: 'revoked', tampered: false });
  });

  it.each<readonly [string, Edit]>([
    ['was cleared', () => ({ revokedAt: null })],
    [
      'was cleared, together with who and why',
      () => ({ revokedAt: null, endedBy: null, endReason: null, changedAt: null }),
    ],
    ['became a suspension that could be resumed', () => ({ revokedAt: null, suspendedAt: START })],
    ['became a retirement', () => ({ revokedAt: null, retireAt: START + HOUR })],
  ])('leaves the row damaged if its mark %s, so the key stays ended', async (_what, edit) => {
    const { key, info, keyring } = await revoked(edit);
    await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
    await keyring.resume(info.keyId, AUTHORITY).catch(() => {});
    await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
    const next = () => keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
    await denied(next, 'conflict', 'record_tampered');
    expect(await shown(keyring, info.keyId)).toMatchObject({ state: 'damaged', tampered: true });
  });

  it.each<readonly [string, Edit]>([
    ['dated later', () => ({ revokedAt: START + 6 })],
    ['dated back', () => ({ revokedAt: START })],
    ['attributed to another person', () => ({ endedBy: 'eve@acme.example' })],
    ['attributed to nobody', () => ({ endedBy: null })],
    ['given another reason', () => ({ endReason: 'unused' })],
    ['given no reason', () => ({ endReason: null })],
    ['put under the seal of the live key', ({ seal }) => ({ seal })],
    ['put under no seal', () => ({ seal: null })],
    ['put on a key with another name', () => ({ name: 'other' })],
  ])('detects a revocation that was %s', async (_what, edit) => {
    const { key, info, live, keyring } = await revoked(edit);
    await denied(() => keyring.verify(key), 'invalid_token', 'revoked');
    // Without a seal, no edit can revive it.
    const state = Object.entries(edit(live)).join() === 'seal,' ? 'revoked' : 'damaged';
    expect(await shown(keyring, info.keyId)).toMatchObject({ state, tampered: true });
  });

  it('does not cover fields that are written later', async () => {
    const later = { lastUsedAt: START, scopesUsed: { 'threats:read': START }, suspendedAt: START };
    const { info, keyring } = await revoked(() => ({ ...later, withdrawn: [OTHER] }));
    expect(await shown(keyring, info.keyId)).toMatchObject({ state: 'revoked', tampered: false });
  });

  it('is null for a row that was already damaged, so edited fields do not get sealed', async () => {
    const inner = memoryStore();
    const edited = tampering(inner, (row) => ({ ...row, scopes: ['users:delete'] }));
    const { key, info } = await issue(setUp({ store: inner }).keyring);
    await setUp({ store: edited }).keyring.revoke(info.keyId, ACTING);
    expect(await rowOf(inner, info.keyId)).toMatchObject({ seal: null, endedBy: ACTING.actor });
    const cleared = tampering(inner, (row) => ({ ...row, revokedAt: null }));
    const { keyring } = setUp({ store: cleared });
    await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
    expect(await shown(keyring, info.keyId)).toMatchObject({ tampered: true });
  });

  // No seal can prevent this. The test is here so that nobody relies on it; the docs say the same.
  it('cannot prevent an attacker from restoring a whole old row', async () => {
    const { key, keyring } = await revoked((live) => live);
    await keyring.verify(key);
  });

  it('is null without a pepper, so clearing the mark revives the key', async () => {
    const { key, store, info, keyring } = await revoked(() => ({ revokedAt: null }), 'none');
    expect((await rowOf(store, info.keyId)).seal).toBeNull();
    await keyring.verify(key);
  });
});
