/** Rows that were copied between installations, for example from staging to production. */
import type { KeyStore } from 'keyscope';
import { createKeyring } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  catalog,
  denied,
  issue,
  PEPPER,
  PLAIN,
  type Ring,
  rowOf,
  START,
  stoppedClock,
} from '../support/keyring.ts';

function keyringOf(deployment: string | undefined, store: KeyStore = memoryStore()): Ring {
  const { now } = stoppedClock();
  return createKeyring({ prefix: 'acme', catalog, store, peppers: [PEPPER], now, deployment });
}

/** A key of one deployment whose row was copied to another one with the same pepper. */
async function copied(from: string | undefined, to: string | undefined) {
  const source = memoryStore();
  const first = keyringOf(from, source);
  const { key, info } = await issue(first);
  const target = memoryStore();
  await target.insert(await rowOf(source, info.keyId));
  return { first, second: keyringOf(to, target), target, key, keyId: info.keyId };
}

describe('a row that was copied from another deployment', () => {
  it.each([
    ['acme staging', 'acme production'],
    [undefined, 'acme production'],
    ['acme staging', undefined],
    ['', 'acme production'],
    ['acme', 'Acme'],
    ['acme', 'acme '],
    // The parts of the label have lengths. Without them, these two would be the same.
    ['acme4:acme', 'acme'],
  ])('is refused and listed as damaged: from %j to %j', async (from, to) => {
    const { first, second, target, key, keyId } = await copied(from, to);
    await first.verify(key);
    await denied(() => second.verify(key), 'invalid_token', 'record_tampered');
    const shown = { keyId, state: 'damaged', tampered: true };
    expect(await second.get(keyId, AUTHORITY)).toMatchObject(shown);
    expect((await second.list({}, AUTHORITY)).keys).toMatchObject([shown]);
    expect(await second.identify(key)).toMatchObject(shown);
    const act = () => second.rotate(keyId, { overlapMs: 0 }, AUTHORITY);
    await denied(act, 'conflict', 'record_tampered');
    // Revoking the row does not make it genuine.
    await second.revoke(keyId, AUTHORITY);
    expect(await rowOf(target, keyId)).toMatchObject({ seal: null, revokedAt: START });
    expect(await second.get(keyId, AUTHORITY)).toMatchObject({ state: 'revoked', tampered: true });
  });

  it('does not prove a revocation in the other deployment', async () => {
    const source = memoryStore();
    const first = keyringOf('acme staging', source);
    const { info } = await issue(first);
    await first.revoke(info.keyId, AUTHORITY);
    const target = memoryStore();
    await target.insert(await rowOf(source, info.keyId));
    const shown = { state: 'damaged', tampered: true };
    expect(await keyringOf('acme production', target).get(info.keyId, AUTHORITY)).toMatchObject(
      shown,
    );
    expect(await first.get(info.keyId, AUTHORITY)).toMatchObject({ tampered: false });
  });

  it.each([
    ['acme production', 'acme production'],
    [undefined, undefined],
    [undefined, ''],
    ['', undefined],
    // Names are composed, so names that look the same are the same.
    ['Zu\u0308rich', 'Z\u00fcrich'],
  ])('is valid like a backup if the name is the same: %j and %j', async (from, to) => {
    const { second, key, keyId } = await copied(from, to);
    expect((await second.verify(key)).keyId).toBe(keyId);
    expect(await second.get(keyId, AUTHORITY)).toMatchObject({ state: 'live', tampered: false });
  });

  it('is what every row becomes if the name of a deployment changes', async () => {
    const store = memoryStore();
    const before = await issue(keyringOf('before', store));
    const after = keyringOf('after', store);
    await denied(() => after.verify(before.key), 'invalid_token', 'record_tampered');
    await after.verify((await issue(after)).key);
  });

  it('is not detected without a pepper, as documented', async () => {
    const store = memoryStore();
    const without = (deployment: string) =>
      createKeyring({ prefix: 'acme', catalog, store, peppers: 'none', deployment });
    const { key } = await without('acme staging').issue(PLAIN, AUTHORITY);
    await without('acme production').verify(key);
  });
});
