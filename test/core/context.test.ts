import { createKeyring, digestKey, type KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  catalog,
  denied,
  HOUR,
  issue,
  PEPPER,
  PEPPER_2,
  rowOf,
  START,
  setUp,
  stoppedClock,
  storeError,
} from '../support/keyring.ts';

/** A keyring, one key of it, and a second keyring that reads the same store through `through`. */
async function reader(
  through: (store: KeyStore) => KeyStore,
  options: Parameters<typeof setUp>[0] = {},
) {
  const store = memoryStore();
  const { keyring } = setUp({ ...options, store });
  const { key, info } = await issue(keyring);
  return { ...setUp({ ...options, store: through(store) }), key, info, store };
}

describe('peppers of a keyring', () => {
  it('digests new keys under the first and verifies under each', async () => {
    const store = memoryStore();
    const before = setUp({ store, peppers: [PEPPER] });
    const old = await issue(before.keyring);
    const after = setUp({ store, peppers: [PEPPER_2, PEPPER] });
    const fresh = await issue(after.keyring);
    expect((await rowOf(store, old.info.keyId)).digest).toBe(digestKey(old.key, PEPPER));
    expect((await rowOf(store, fresh.info.keyId)).digest).toBe(digestKey(fresh.key, PEPPER_2));
    expect((await after.keyring.verify(old.key)).keyId).toBe(old.info.keyId);
    expect((await after.keyring.verify(fresh.key)).keyId).toBe(fresh.info.keyId);
    // Taking a pepper out ends the keys made under it.
    const only = setUp({ store, peppers: [PEPPER_2] });
    await denied(() => only.keyring.verify(old.key), 'invalid_token', 'unknown_key');
    await only.keyring.verify(fresh.key);
  });

  it('depends on the secret, not on the id alone', async () => {
    const { key, store } = await reader((s) => s);
    const other = setUp({ store, peppers: [{ id: PEPPER.id, secret: PEPPER_2.secret }] });
    await denied(() => other.keyring.verify(key), 'invalid_token', 'unknown_key');
  });

  it('takes text and its UTF-8 bytes for the same secret, and copies the bytes', async () => {
    const secret = new TextEncoder().encode(PEPPER.secret);
    const { key, store } = await reader((s) => s, { peppers: [{ id: PEPPER.id, secret }] });
    const late = setUp({ store, peppers: [{ id: PEPPER.id, secret }] });
    secret.fill(0);
    await late.keyring.verify(key);
    await setUp({ store, peppers: [PEPPER] }).keyring.verify(key);
  });

  describe('insecureAcceptUnpeppered', () => {
    const until = START + HOUR;

    async function gained() {
      const { key, info, store } = await reader((s) => s, { peppers: 'none' });
      const clock = stoppedClock();
      // What its methods say was believed, and a Date whose getTime says otherwise had no end.
      const insecureAcceptUnpeppered = {
        until: Object.assign(new Date(until), { getTime: () => Infinity }),
      };
      const { keyring } = setUp({
        store,
        now: clock.now,
        peppers: [PEPPER],
        insecureAcceptUnpeppered,
      });
      return { key, info, store, clock, keyring };
    }

    it.each([
      [until - 1, true],
      [until, false],
      [until + 1, false],
    ])('at %i takes unpeppered keys: %s', async (time, taken) => {
      const { key, keyring, clock } = await gained();
      clock.set(time);
      if (taken) await keyring.verify(key);
      else await denied(() => keyring.verify(key), 'invalid_token', 'unknown_key');
    });

    it('ends for a key that was in use before', async () => {
      const { key, keyring, clock } = await gained();
      await keyring.verify(key);
      clock.set(until);
      await denied(() => keyring.verify(key), 'invalid_token', 'unknown_key');
    });

    it('is never the default', async () => {
      const { key, store } = await gained();
      await denied(() => setUp({ store }).keyring.verify(key), 'invalid_token', 'unknown_key');
    });

    it('lets an unpeppered key be rotated into a peppered one before, not after', async () => {
      const { info, store, keyring, clock } = await gained();
      const next = await keyring.rotate(info.keyId, { overlapMs: HOUR }, AUTHORITY);
      expect((await rowOf(store, next.info.keyId)).digest).toBe(digestKey(next.key, PEPPER));
      expect((await rowOf(store, next.info.keyId)).seal).toMatch(/^[0-9a-f]{64}$/);
      const late = await gained();
      late.clock.set(until);
      await denied(
        () => late.keyring.rotate(late.info.keyId, { overlapMs: 0 }, AUTHORITY),
        'invalid_token',
        'unknown_key',
      );
      clock.set(until);
      await keyring.verify(next.key);
    });

    it('asks the clock before it digests: a broken one is no reason to take them', async () => {
      const { key, store } = await gained();
      const insecureAcceptUnpeppered = { until: new Date(until) };
      const now = () => Number.NaN;
      await storeError(() => setUp({ store, now, insecureAcceptUnpeppered }).keyring.verify(key));
    });
  });
});

describe('two keyrings on one store', () => {
  it('of other prefixes do not take each other’s keys, on one store', async () => {
    const { key, store, clock } = await reader((s) => s);
    const other = createKeyring({
      prefix: 'acme_eu',
      catalog,
      store,
      peppers: [PEPPER],
      now: clock.now,
    });
    await denied(() => other.verify(key), 'invalid_token', 'malformed_key');
  });
});
