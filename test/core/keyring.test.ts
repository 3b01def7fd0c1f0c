import { createKeyring } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  bearer,
  catalog,
  denied,
  issue,
  PEPPER,
  PLAIN,
  policy,
  readThrough,
  setUp,
  thrown,
  untyped,
} from '../support/keyring.ts';

describe('a keyring', () => {
  it('has these methods', () => {
    expect(Object.keys(setUp().keyring).sort()).toEqual([
      'admit',
      'advise',
      'authenticate',
      'flush',
      'get',
      'issue',
      'list',
      'pepperReport',
      'revoke',
      'rotate',
      'verify',
    ]);
  });

  it('has methods that need no `this`', async () => {
    const { keyring } = setUp();
    const { issue: make, verify, authenticate, admit, flush } = keyring;
    const { revoke, rotate, list, get, advise, pepperReport } = keyring;
    const { key, info } = await make(PLAIN, AUTHORITY);
    await admit(bearer(key), { policy, operation: 'list' });
    await authenticate(bearer(key));
    await verify(key);
    await flush();
    await get(info.keyId, AUTHORITY);
    await list({}, AUTHORITY);
    await advise(info.keyId, { unusedForMs: 0 }, AUTHORITY);
    await pepperReport();
    const next = await rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
    await revoke(next.info.keyId, AUTHORITY);
  });

  it('rejects and never throws as it is called, whatever it is passed', async () => {
    const { keyring } = setUp();
    const { flush: _flush, pepperReport: _pepperReport, ...others } = keyring;
    for (const method of Object.values(others)) {
      const call = untyped<(...args: readonly unknown[]) => Promise<unknown>>(method);
      // `thrown` fails on a synchronous throw.
      expect(await thrown(() => call())).toBeInstanceOf(Error);
      expect(await thrown(() => call(7, 7, 7))).toBeInstanceOf(Error);
    }
  });

  it('copies its options, so that what changes later changes nothing', async () => {
    const options = { prefix: 'acme', catalog, store: memoryStore(), peppers: [{ ...PEPPER }] };
    const keyring = createKeyring(options);
    const { key } = await issue(keyring);
    const changed: Record<string, unknown> = options;
    for (const name of Object.keys(changed)) changed[name] = undefined;
    expect((await keyring.verify(key)).keyId).toBeTypeOf('string');
    expect(Object.isFrozen(keyring)).toBe(true);
    expect(() => Object.assign(keyring, { verify: () => ({}) })).toThrow(TypeError);
  });

  it('accepts no key of another prefix on the same store', async () => {
    const { key, store, clock } = await readThrough((inner) => inner);
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
