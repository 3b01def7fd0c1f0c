import { createKeyring, InputError, type KeyringOptions } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  catalog,
  denied,
  HOUR,
  PEPPER,
  PEPPER_2,
  policy,
  readThrough,
  START,
  setUp,
  untyped,
} from '../support/keyring.ts';

const good = () => ({ prefix: 'acme', policy, store: memoryStore(), peppers: [PEPPER] as unknown });
const make = (over: object) => () =>
  createKeyring(untyped<KeyringOptions<typeof catalog>>({ ...good(), ...over }));

const POLICY_OR_CATALOG = /^pass the policy that definePolicy returned, or a catalog alone$/;

describe('the options of a keyring', () => {
  it('are accepted if all are valid', () => {
    expect(make({})).not.toThrow();
    const absent = { deployment: undefined, maxLifetimeMs: undefined, onError: undefined };
    expect(make(absent)).not.toThrow();
    const bounds = { deployment: '\u{1f511}'.repeat(200), maxLifetimeMs: 2 ** 53 - 1 };
    expect(make({ ...bounds, onError: () => {} })).not.toThrow();
    expect(make({ deployment: '', maxLifetimeMs: 1 })).not.toThrow();
  });

  it.each(['listLineage', 'mark'])(
    'are refused with a store that lacks %s, as in the first contract',
    (name) => {
      const store = { ...memoryStore(), [name]: undefined };
      const message = new RegExp(`^store: pass an object with the method ${name}`);
      expect(make({ store })).toThrow(message);
    },
  );

  it('are accepted with a store that has no methods for reports', () => {
    const { summarize, listExpiring, listAll, listChanged, ...store } = memoryStore();
    expect([summarize, listExpiring, listAll, listChanged].map((each) => typeof each)).toEqual(
      Array(4).fill('function'),
    );
    expect(make({ store })).not.toThrow();
  });

  const bad: readonly (readonly [string, object, RegExp])[] = [
    [
      'an unknown option',
      { pepper: PEPPER },
      /createKeyring: unknown field "pepper"; known fields are prefix, policy, catalog/,
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

    ['neither a policy nor a catalog', { policy: undefined }, POLICY_OR_CATALOG],
    ['both a policy and its catalog', { catalog }, POLICY_OR_CATALOG],
    ['null as the policy', { policy: null }, POLICY_OR_CATALOG],
    ['a table as the policy', { policy: { list: ['threats:read'] } }, POLICY_OR_CATALOG],
    ['a catalog as the policy', { policy: catalog }, POLICY_OR_CATALOG],
    ['a policy as the catalog', { policy: undefined, catalog: policy }, POLICY_OR_CATALOG],
    ['null as the catalog', { policy: undefined, catalog: null }, POLICY_OR_CATALOG],
    ['null as the catalog of a policy', { catalog: null }, POLICY_OR_CATALOG],
    [
      'a definition as the catalog',
      { policy: undefined, catalog: { threats: { read: 'x' } } },
      POLICY_OR_CATALOG,
    ],
    ['a list as the catalog', { policy: undefined, catalog: ['threats:read'] }, POLICY_OR_CATALOG],
    [
      'an object that looks like a catalog',
      { policy: undefined, catalog: { all: ['threats:read'] } },
      POLICY_OR_CATALOG,
    ],

    ['no store', { store: undefined }, /store: pass an object with the method/],
    ['null as the store', { store: null }, /store: pass an object with the method/],
    ['an empty store', { store: {} }, /store: pass an object with the method/],
    ['a factory as the store', { store: memoryStore }, /store: pass an object with the method/],
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
    ['null as peppers', { peppers: null }, /peppers: pass/],
    ['an empty list of peppers', { peppers: [] }, /peppers: pass/],
    ['one pepper', { peppers: PEPPER }, /peppers: pass/],
    ['a text as peppers', { peppers: PEPPER.secret }, /peppers: pass/],
    ['another word as peppers', { peppers: 'None' }, /peppers: pass/],
    ["'none' in a list", { peppers: ['none'] }, /pepper/],
    ['a hole in the peppers', { peppers: new Array(1) }, /pepper/],
    [
      'two peppers with the same id',
      { peppers: [PEPPER, { ...PEPPER_2, id: PEPPER.id }] },
      /two peppers have the same id/,
    ],
    ['the same pepper twice', { peppers: [PEPPER, PEPPER] }, /two peppers have the same id/],
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
      { peppers: [{ id: 'p1', secret: new Uint8Array(31) }] },
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
    ['a time-out that is not a number', { storeTimeoutMs: Number.NaN }, /storeTimeoutMs/],
    ['an infinite time-out', { storeTimeoutMs: Number.POSITIVE_INFINITY }, /storeTimeoutMs/],
    ['a time-out that is a text', { storeTimeoutMs: '2000' }, /storeTimeoutMs/],
    // `setTimeout` treats more than 2^31-1 as 1.
    ['a time-out beyond the range of timers', { storeTimeoutMs: 2 ** 31 }, /storeTimeoutMs/],

    [
      'a token verifier that is a function',
      { tokens: () => {} },
      /^tokens: a verifier needs verify$/,
    ],
    ['a token verifier without verify', { tokens: {} }, /^tokens: a verifier needs verify$/],
    ['null as a token verifier', { tokens: null }, /^tokens: a verifier needs verify$/],
    ['checkParent that is null', { checkParent: null }, /checkParent: pass true or false/],
    ['checkParent that is a text', { checkParent: 'false' }, /checkParent: pass true or false/],
    ['checkParent that is 0', { checkParent: 0 }, /checkParent: pass true or false/],

    ['a Date as the clock', { now: new Date() }, /now/],
    ['null as the clock', { now: null }, /now/],
    ['a number as random', { random: 4 }, /random/],
    ['an emitter as a listener', { onEvent: { emit() {} } }, /^onEvent: pass a function/],
    ['null as a listener', { onEvent: null }, /^onEvent: pass a function or leave it out/],
    ['a console as a listener of errors', { onError: console }, /^onError: pass a function/],
    ['null as a listener of errors', { onError: null }, /^onError: pass a function/],

    ['a number as a deployment', { deployment: 7 }, /^deployment: pass a string/],
    ['null as a deployment', { deployment: null }, /^deployment: pass a string/],
    ['a deployment of two lines', { deployment: 'a\nb' }, /^deployment: no control/],
    ['an invisible deployment', { deployment: '\u200b' }, /^deployment: no control, invisible/],
    ['a deployment of 201 characters', { deployment: 'x'.repeat(201) }, /^deployment: 1 to 200/],

    ['a lifetime of 0', { maxLifetimeMs: 0 }, /^maxLifetimeMs: pass a whole number from 1 to/],
    ['a lifetime below 0', { maxLifetimeMs: -1 }, /^maxLifetimeMs/],
    ['a lifetime that is not whole', { maxLifetimeMs: 1.5 }, /^maxLifetimeMs/],
    ['an infinite lifetime', { maxLifetimeMs: Number.POSITIVE_INFINITY }, /^maxLifetimeMs/],
    ['a lifetime that is a text', { maxLifetimeMs: '3600000' }, /^maxLifetimeMs/],
    ['a lifetime that is null', { maxLifetimeMs: null }, /^maxLifetimeMs/],
    ["'never' for a life", { maxLifetimeMs: 'never' }, /^maxLifetimeMs/],
  ];

  it.each(bad)(
    'are refused with %s, and the error says what to write instead',
    (_what, over, message) => {
      expect(make(over)).toThrow(TypeError);
      expect(make(over)).toThrow(message);
      // Not an InputError: no request can make this mistake.
      expect(make(over)).not.toThrow(InputError);
    },
  );

  it.each([undefined, null, 7, 'acme', []])('are refused if they are %j', (options) => {
    const act = () => createKeyring(untyped<KeyringOptions<typeof catalog>>(options));
    expect(act).toThrow(TypeError);
    expect(act).toThrow(/createKeyring: pass an object/);
  });

  it('are refused if an option is on a prototype', () => {
    const inherited = Object.create({ peppers: 'none' }) as object;
    const { peppers: _peppers, ...rest } = good();
    const options = untyped<KeyringOptions<typeof catalog>>(Object.assign(inherited, rest));
    expect(() => createKeyring(options)).toThrow(/write peppers as an own field/);
  });

  it('are checked without calling the store, clock, random source or a listener', () => {
    const never = () => {
      throw new Error('asked');
    };
    const store = Object.fromEntries(Object.keys(memoryStore()).map((name) => [name, never]));
    make({ store, now: never, random: never, onEvent: never })();
  });
});

describe('a service that adds its first pepper', () => {
  // An option used to accept both: anyone who could write to the database could insert a key.
  it('ends every key that was made without a pepper', async () => {
    const { key, info, store } = await readThrough((store) => store, { peppers: 'none' });
    const { keyring } = setUp({ store, peppers: [PEPPER] });
    await denied(() => keyring.verify(key), 'invalid_token', 'unknown_key');
    expect((await keyring.get(info.keyId, AUTHORITY))?.state).toBe('orphaned');
    await denied(
      () => keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY),
      'conflict',
      'orphaned',
    );
    await keyring.revoke(info.keyId, AUTHORITY);
    expect((await keyring.get(info.keyId, AUTHORITY))?.state).toBe('revoked');
  });

  it('has no option to accept both', () => {
    const insecureAcceptUnpeppered = { until: new Date(START + HOUR) };
    expect(make({ insecureAcceptUnpeppered })).toThrow(/^createKeyring: unknown field/);
  });
});
