import { createKeyring, type KeyringOptions } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  catalog,
  issue,
  PEPPER,
  PEPPER_2,
  setUp,
  thrown,
  typeError,
  untyped,
} from '../support/keyring.ts';

const good = () => ({
  prefix: 'acme',
  catalog,
  store: memoryStore(),
  peppers: [PEPPER] as unknown,
});
const make = (over: object) => () =>
  createKeyring(untyped<KeyringOptions<typeof catalog>>({ ...good(), ...over }));
const secret = (bytes: number) => new Uint8Array(bytes);

describe('createKeyring', () => {
  it('takes a good configuration, of which the tests below change one thing each', () => {
    expect(Object.keys(make({})()).sort()).toEqual([
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

  const bad: readonly (readonly [string, object, RegExp])[] = [
    [
      'an unknown option',
      { pepper: PEPPER },
      /createKeyring: unknown field "pepper"; it takes prefix, catalog/,
    ],
    ['a misspelled option', { storeTimeoutMS: 1 }, /unknown field "storeTimeoutMS"/],

    ['no prefix', { prefix: undefined }, /prefix: 1 to 20/],
    ['an empty prefix', { prefix: '' }, /prefix: 1 to 20/],
    ['an upper-case prefix', { prefix: 'Acme' }, /prefix/],
    ['a prefix with a digit first', { prefix: '1acme' }, /prefix/],
    ['a prefix that ends in _', { prefix: 'acme_' }, /prefix/],
    ['a prefix with -', { prefix: 'ac-me' }, /prefix/],
    ['a prefix of 21 characters', { prefix: 'a'.repeat(21) }, /prefix/],
    ['a prefix and a newline', { prefix: 'acme\n' }, /prefix/],
    ['a prefix that is a list', { prefix: ['acme'] }, /prefix/],

    ['no catalog', { catalog: undefined }, /catalog: pass what defineScopes returned/],
    ['null for a catalog', { catalog: null }, /catalog: pass what defineScopes returned/],
    [
      'a definition for a catalog',
      { catalog: { threats: { read: 'x' } } },
      /catalog: pass what defineScopes/,
    ],
    ['a list for a catalog', { catalog: ['threats:read'] }, /catalog: pass what defineScopes/],

    ['no store', { store: undefined }, /store: pass an object with the method/],
    ['null for a store', { store: null }, /store: pass an object with the method/],
    ['an empty store', { store: {} }, /store: pass an object with the method/],
    ['a factory for a store', { store: memoryStore }, /store: pass an object with the method/],
    [
      'a promise of a store',
      { store: Promise.resolve(memoryStore()) },
      /store: pass an object with the method/,
    ],

    [
      'no peppers',
      { peppers: undefined },
      /peppers: pass \[\{ id, secret \}\], or 'none' to go without/,
    ],
    ['null for peppers', { peppers: null }, /peppers: pass/],
    ['an empty list of peppers', { peppers: [] }, /peppers: pass/],
    ['one pepper', { peppers: PEPPER }, /peppers: pass/],
    ['a text for peppers', { peppers: PEPPER.secret }, /peppers: pass/],
    ['another word for peppers', { peppers: 'None' }, /peppers: pass/],
    ["'none' in a list", { peppers: ['none'] }, /pepper/],
    ['a hole in the peppers', { peppers: new Array(1) }, /pepper/],
    [
      'two peppers of one id',
      { peppers: [PEPPER, { ...PEPPER_2, id: PEPPER.id }] },
      /two of them have the same id/,
    ],
    ['the same pepper twice', { peppers: [PEPPER, PEPPER] }, /two of them have the same id/],
    ['an upper-case pepper id', { peppers: [{ ...PEPPER, id: 'P1' }] }, /pepper: id/],
    ['an empty pepper id', { peppers: [{ ...PEPPER, id: '' }] }, /pepper: id/],
    ['a pepper id with $', { peppers: [{ ...PEPPER, id: 'a$b' }] }, /pepper: id/],
    [
      'a pepper id of 33 characters',
      { peppers: [{ ...PEPPER, id: 'a'.repeat(33) }] },
      /pepper: id/,
    ],
    ['a pepper id that is a number', { peppers: [{ ...PEPPER, id: 1 }] }, /pepper: id/],
    ['no secret', { peppers: [{ id: 'p1' }] }, /pepper p1: secret/],
    [
      'a secret of 31 bytes',
      { peppers: [{ id: 'p1', secret: secret(31) }] },
      /pepper p1: the secret has 31 bytes/,
    ],
    [
      'a secret of 31 characters',
      { peppers: [{ id: 'p1', secret: 'x'.repeat(31) }] },
      /pepper p1: the secret has 31 bytes/,
    ],
    [
      'a secret of half a pair',
      { peppers: [{ id: 'p1', secret: '\ud800'.repeat(32) }] },
      /pepper p1: secret/,
    ],
    [
      'a secret that is a list',
      { peppers: [{ id: 'p1', secret: new Array(32).fill(1) }] },
      /pepper p1: secret/,
    ],
    [
      'a secret in an ArrayBuffer',
      { peppers: [{ id: 'p1', secret: new ArrayBuffer(32) }] },
      /pepper p1: secret/,
    ],
    [
      'an unknown field of a pepper',
      { peppers: [{ ...PEPPER, key: 'x' }] },
      /pepper: unknown field "key"/,
    ],

    ['a time-out of 0', { storeTimeoutMs: 0 }, /storeTimeoutMs: pass a whole number from 1 to/],
    ['a time-out below 0', { storeTimeoutMs: -1 }, /storeTimeoutMs/],
    ['a time-out that is not whole', { storeTimeoutMs: 1.5 }, /storeTimeoutMs/],
    ['a time-out that is no number', { storeTimeoutMs: Number.NaN }, /storeTimeoutMs/],
    ['a time-out without end', { storeTimeoutMs: Number.POSITIVE_INFINITY }, /storeTimeoutMs/],
    ['a time-out that is a text', { storeTimeoutMs: '2000' }, /storeTimeoutMs/],
    // `setTimeout` takes more than 2^31-1 for 1.
    ['a time-out beyond what timers can do', { storeTimeoutMs: 2 ** 31 }, /storeTimeoutMs/],

    ['a token verifier that is a function', { tokens: () => {} }, /tokens/],
    ['a token verifier without verify', { tokens: {} }, /tokens/],
    ['checkParent that is null', { checkParent: null }, /checkParent: pass true or false/],
    ['checkParent that is a text', { checkParent: 'false' }, /checkParent: pass true or false/],
    ['checkParent that is 0', { checkParent: 0 }, /checkParent: pass true or false/],

    ['a Date for a clock', { now: new Date() }, /now/],
    ['null for a clock', { now: null }, /now/],
    ['a number for random', { random: 4 }, /random/],
    ['an emitter for a listener', { onEvent: { emit() {} } }, /onEvent/],

    [
      'true for insecureAcceptUnpeppered',
      { insecureAcceptUnpeppered: true },
      /insecureAcceptUnpeppered: pass an object/,
    ],
    [
      'no date in it',
      { insecureAcceptUnpeppered: {} },
      /insecureAcceptUnpeppered: pass \{ until: Date \}/,
    ],
    [
      'a text in it',
      { insecureAcceptUnpeppered: { until: '2999-01-01' } },
      /pass \{ until: Date \}/,
    ],
    ['milliseconds in it', { insecureAcceptUnpeppered: { until: 7 } }, /pass \{ until: Date \}/],
    [
      'another field in it',
      { insecureAcceptUnpeppered: { until: new Date(), x: 1 } },
      /unknown field "x"/,
    ],
    [
      'it beside no peppers',
      { insecureAcceptUnpeppered: { until: new Date() }, peppers: 'none' },
      /insecureAcceptUnpeppered: /,
    ],
  ];

  it.each(bad)('refuses %s, and says what to write instead', (_what, over, message) => {
    expect(make(over)).toThrow(TypeError);
    expect(make(over)).toThrow(message);
  });

  it.each([undefined, null, 7, 'acme', []])('refuses %j for its options', (options) => {
    const act = () => createKeyring(untyped<KeyringOptions<typeof catalog>>(options));
    expect(act).toThrow(TypeError);
    expect(act).toThrow(/createKeyring: pass an object/);
  });

  it('takes no option from a prototype', () => {
    const inherited = Object.create({ peppers: 'none' }) as object;
    const { peppers: _peppers, ...rest } = good();
    expect(() =>
      createKeyring(untyped<KeyringOptions<typeof catalog>>(Object.assign(inherited, rest))),
    ).toThrow(/peppers/);
  });

  it('copies its options: what changes later changes nothing', async () => {
    const options = { ...good(), peppers: [{ ...PEPPER }], now: () => 5 };
    const keyring = createKeyring(options);
    const { key } = await issue(keyring);
    const changed: Record<string, unknown> = options;
    for (const name of Object.keys(changed)) changed[name] = undefined;
    expect((await keyring.verify(key)).keyId).toBeTypeOf('string');
    expect(Object.isFrozen(keyring)).toBe(true);
    expect(() => Object.assign(keyring, { verify: () => ({}) })).toThrow(TypeError);
  });

  it('asks neither store, clock, random source nor listener at set-up', () => {
    const never = () => {
      throw new Error('asked');
    };
    const store = Object.fromEntries(Object.keys(memoryStore()).map((name) => [name, never]));
    make({ store, now: never, random: never, onEvent: never })();
  });
});

it('refuses insecureAcceptUnpeppered until an invalid Date', () => {
  expect(() => setUp({ insecureAcceptUnpeppered: { until: new Date('x') } })).toThrow(TypeError);
});

it('refuses a catalog that defineScopes did not make', () => {
  const fake = untyped<typeof catalog>({ all: ['threats:read'] });
  expect(() =>
    createKeyring({ prefix: 'acme', catalog: fake, store: memoryStore(), peppers: [PEPPER] }),
  ).toThrow(TypeError);
});
