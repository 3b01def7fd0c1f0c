import { createKeyring } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  bearer,
  catalog,
  denied,
  inputError,
  issue,
  OTHER,
  OWN,
  PEPPER,
  PLAIN,
  policy,
  readThrough,
  setUp,
  thrown,
  typeError,
  untyped,
  untypedInput,
  wrap,
} from '../support/keyring.ts';

describe('a keyring', () => {
  it('has these fields', () => {
    expect(Object.keys(setUp().keyring).sort()).toEqual([
      'admit',
      'authenticate',
      'catalog',
      'flush',
      'get',
      'identify',
      'issue',
      'issueKeyless',
      'list',
      'policy',
      'prefix',
      'resume',
      'revoke',
      'revokeLineage',
      'rotate',
      'suspend',
      'verify',
      'withdraw',
    ]);
  });

  it('has the policy that it was made with, its catalog, and its prefix', () => {
    const { keyring } = setUp({ prefix: 'acme_eu' });
    expect(keyring.policy).toBe(policy);
    expect(keyring.catalog).toBe(catalog);
    expect(keyring.prefix).toBe('acme_eu');
  });

  it('has no policy if it was made with a catalog alone', () => {
    const { keyring } = setUp({ catalog });
    expect(keyring).toMatchObject({ policy: undefined, prefix: 'acme' });
    expect(keyring.catalog).toBe(catalog);
  });

  it('has methods that need no `this`', async () => {
    const { keyring } = setUp();
    const { issue: make, verify, authenticate, admit, flush } = keyring;
    const { revoke, revokeLineage, rotate, suspend, resume, withdraw } = keyring;
    const { list, get, identify } = keyring;
    const input = untypedInput({ accessibleEntities: [OTHER] });
    const { key, info } = await make(input, { ...AUTHORITY, entities: [OTHER] });
    await admit(bearer(key), { operation: 'list' });
    await authenticate(bearer(key));
    await verify(key);
    await flush();
    await get(info.keyId, AUTHORITY);
    await list({}, AUTHORITY);
    await identify(key);
    await withdraw(info.keyId, { entityId: OTHER });
    await suspend(info.keyId, AUTHORITY);
    await resume(info.keyId, AUTHORITY);
    const next = await rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
    await revoke(next.info.keyId, AUTHORITY);
    await revokeLineage(next.info.keyId, AUTHORITY);
  });

  it('rejects and never throws synchronously, whatever it is passed', async () => {
    const { keyring } = setUp();
    // These two refuse nothing: `flush` has no arguments, and `identify` returns null.
    const { flush: _flush, identify, ...others } = keyring;
    const methods = Object.values(others).filter((field) => typeof field === 'function');
    expect(await untyped<() => Promise<unknown>>(identify)()).toBeNull();
    for (const method of methods) {
      const call = untyped<(...args: readonly unknown[]) => Promise<unknown>>(method);
      // `thrown` fails on a synchronous throw.
      expect(await thrown(() => call())).toBeInstanceOf(Error);
      expect(await thrown(() => call(7, 7, 7))).toBeInstanceOf(Error);
    }
  });

  it('copies its options, so that later changes have no effect', async () => {
    const options = { prefix: 'acme', catalog, store: memoryStore(), peppers: [{ ...PEPPER }] };
    const keyring = createKeyring(options);
    const { key } = await issue(keyring);
    const changed: Record<string, unknown> = options;
    for (const name of Object.keys(changed)) changed[name] = undefined;
    expect((await keyring.verify(key)).keyId).toBeTypeOf('string');
    expect(Object.isFrozen(keyring)).toBe(true);
    expect(() => Object.assign(keyring, { verify: () => ({}) })).toThrow(TypeError);
  });

  it('reports a malformed call before a store that is down', async () => {
    const store = wrap(memoryStore(), () => {
      throw new Error('down');
    });
    const { keyring } = setUp({ store });
    await typeError(() => keyring.issue(PLAIN, untyped({ entityId: OWN })), /authority\.scopes/);
    await inputError(() => keyring.issue(untypedInput({ name: '' }), AUTHORITY), 'name', /^name/);
    await inputError(() => keyring.list({ limit: 0 }, AUTHORITY), 'limit', /^limit/);
    await inputError(() => keyring.revoke(untyped(7), AUTHORITY), 'keyId', /^keyId/);
  });

  it('accepts no key with another prefix on the same store', async () => {
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
