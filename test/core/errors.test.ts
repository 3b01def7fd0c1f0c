import { inspect } from 'node:util';
import { AccessError, isAccessError, isStoreError, StoreError } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { AUTHORITY, issue, NOWHERE, setUp, thrown, untyped } from '../support/keyring.ts';

const ACCESS = Symbol.for('keyscope.AccessError');
const STORE = Symbol.for('keyscope.StoreError');

describe('AccessError', () => {
  it('keeps its reason and key id for the log: neither JSON nor a spread shows them', async () => {
    const { keyring } = setUp();
    const { key, info } = await issue(keyring);
    await keyring.revoke(info.keyId, AUTHORITY);
    const error = await thrown(() => keyring.verify(key));
    expect(isAccessError(error) && [error.reason, error.keyId]).toEqual(['revoked', info.keyId]);
    expect(JSON.stringify(error)).toBe('{"code":"invalid_token"}');
    expect({ ...(error as object) }).toEqual({ code: 'invalid_token' });
  });

  // An edited row could put any text into an audit trail as its key id.
  it('takes nothing but a UUID for its key id', () => {
    const named = (keyId: unknown) =>
      new AccessError('invalid_token', 'revoked', { keyId: untyped<string>(keyId) }).keyId;
    expect(named(NOWHERE)).toBe(NOWHERE);
    for (const odd of [undefined, null, 7, '', 'acme_x', `${NOWHERE}\n`, [NOWHERE]])
      expect(named(odd)).toBeUndefined();
  });

  it('has one sentence for each code, whatever the reason', () => {
    const revoked = new AccessError('invalid_token', 'revoked', { keyId: NOWHERE });
    const unknown = new AccessError('invalid_token', 'unknown_key');
    expect(revoked.message).toBe(unknown.message);
    expect([revoked.name, String(revoked)]).toEqual([
      'AccessError',
      `AccessError: ${unknown.message}`,
    ]);
  });
});

describe('StoreError', () => {
  const error = new StoreError('store.x failed: see cause', new Error('row quoted'));

  it('keeps the driver’s error as its cause, which no listing shows', () => {
    expect(error.cause).toEqual(new Error('row quoted'));
    expect(Object.keys(error)).toEqual([]);
    expect(JSON.stringify(error)).toBe('{}');
  });

  // Node prints an error that nobody caught with `customInspect: false`.
  it('shows no driver text when nobody caught it', () => {
    expect(inspect(error, { customInspect: false, depth: 5 })).not.toContain('row quoted');
  });

  it('shows no driver text even if inspection calls getters', () => {
    expect(inspect(error, { getters: true, showHidden: true })).not.toContain('row quoted');
  });

  it('is inspected as its stack', () => {
    expect(inspect(error, { getters: true })).toBe(error.stack);
  });
});

describe('isAccessError and isStoreError', () => {
  it('tell the two apart', () => {
    const denial = new AccessError('conflict', 'already_ended');
    const outage = new StoreError('down');
    expect([isAccessError(denial), isStoreError(denial)]).toEqual([true, false]);
    expect([isAccessError(outage), isStoreError(outage)]).toEqual([false, true]);
  });

  it('accept errors of another copy of the package, by brand', () => {
    expect(isAccessError({ [ACCESS]: true, code: 'not_found' })).toBe(true);
    expect(isStoreError({ [STORE]: true })).toBe(true);
  });

  it.each([
    [undefined],
    [null],
    ['AccessError'],
    [new Error('x')],
    [{ code: 'not_found' }],
    [{ name: 'StoreError' }],
    [{ [ACCESS]: 'true', [STORE]: 1, code: 'not_found' }],
    [{ [ACCESS]: true }],
    [{ [ACCESS]: true, code: 'toString' }],
    [{ [ACCESS]: true, code: '__proto__' }],
    [{ [ACCESS]: true, code: 'of_a_later_version' }],
  ])('refuse anything else: case %#', (value) => {
    expect([isAccessError(value), isStoreError(value)]).toEqual([false, false]);
  });
});
