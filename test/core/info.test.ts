import { inspect } from 'node:util';
import { type IssuedKey, type IssueInput, StoreError } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { AUTHORITY, dump, issue, PLAIN, rowOf, setUp, untyped } from '../support/keyring.ts';

/** What a request's body holds, types unchecked, laid over the least that `issue` takes. */
const input = (over: object): IssueInput<never> => untyped({ ...PLAIN, ...over });

it('shows no key of an issued one, even where inspection calls getters', async () => {
  const issued = await issue(setUp().keyring);
  expect(inspect(issued, { showHidden: true, getters: true, depth: Infinity })).not.toContain(
    issued.key.slice(5),
  );
});

it('inspects an issued key as its info, and a StoreError as its stack', async () => {
  const error = new StoreError('store.insert failed: see cause', new Error('secret row'));
  expect(inspect(error, { getters: true })).toBe(error.stack);
  const { keyring } = setUp();
  const issued = await issue(keyring);
  expect(inspect(issued, { getters: true })).toContain(issued.info.keyId);
});

describe('the plaintext of an issued key', () => {
  it('stands nowhere in the store, nor does any ten characters of it', async () => {
    const { keyring, store } = setUp();
    const { key, info } = await keyring.issue(
      input({ scopes: ['threats:*', 'threats:delete'], justification: 'j' }),
      AUTHORITY,
    );
    const text = `${await dump(store)}${JSON.stringify(await rowOf(store, info.keyId))}`;
    expect(text).toContain(info.keyId);
    const secret = key.slice('acme_'.length);
    for (let i = 0; i + 10 <= secret.length; i++)
      expect(text).not.toContain(secret.slice(i, i + 10));
  });

  const shows: readonly (readonly [string, (issued: IssuedKey) => string])[] = [
    ['String()', (issued) => String(issued)],
    ['a template', (issued) => `${untyped<string>(issued)}`],
    ['JSON', (issued) => JSON.stringify(issued)],
    ['JSON of a copy', (issued) => JSON.stringify({ ...issued })],
    [
      'a structured clone',
      (issued) => inspect(structuredClone(issued), { depth: 9, showHidden: true }),
    ],
    ['entries', (issued) => JSON.stringify([Object.entries(issued), Reflect.ownKeys(issued)])],
    [
      'a for-in loop',
      (issued) => {
        let all = '';
        for (const name in issued) all += inspect(Reflect.get(issued, name));
        return all;
      },
    ],
    ['inspect', (issued) => inspect(issued)],
    [
      'inspect of everything hidden',
      (issued) => inspect(issued, { showHidden: true, depth: Infinity }),
    ],
    ['inspect with getters', (issued) => inspect(issued, { getters: true, depth: Infinity })],
    ['inspect of a list', (issued) => inspect([{ issued }], { showHidden: true, depth: Infinity })],
    ['Object.assign', (issued) => inspect(Object.assign({}, issued), { getters: true })],
    [
      'an error about it',
      (issued) => inspect(new Error('failed', { cause: issued }), { depth: Infinity }),
    ],
  ];

  it.each(shows)('does not come out by %s', async (_how, show) => {
    const { keyring } = setUp();
    const issued = await keyring.issue(input({}), AUTHORITY);
    const text = show(issued);
    expect(text).not.toContain(issued.key.slice(5));
    expect(issued.key).toHaveLength(37);
  });

  it('cannot be replaced on the result', async () => {
    const { keyring } = setUp();
    const issued = await keyring.issue(input({}), AUTHORITY);
    expect(() => Object.assign(issued, { key: 'acme_x' })).toThrow(TypeError);
    expect(() => Object.assign(issued, { info: null })).toThrow(TypeError);
  });
});
