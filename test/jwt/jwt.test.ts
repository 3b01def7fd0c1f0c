/**
 * Tokens from exchange to principal: what they carry, how keys rotate, and how a key set is
 * fetched.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { Principal } from 'keyscope';
import { canAddress, defineScopes, hasScopes, parseAuthorization } from 'keyscope';
import type { ExchangeInput, TokenIssuerOptions, TokenVerifierOptions } from 'keyscope/jwt';
import {
  createTokenIssuer,
  createTokenVerifier,
  ExchangeError,
  isExchangeError,
} from 'keyscope/jwt';
import { testPrincipal } from 'keyscope/testing';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  ALGS,
  AUDIENCE,
  CLAIMS,
  forge,
  ISSUER,
  KEY_ID,
  makePair,
  NOW,
  type Pair,
  principal,
} from '../support/jwt.ts';
import {
  AUTHORITY,
  catalog,
  denied,
  HOUR,
  OTHER,
  OWN,
  PLAIN,
  START,
  setUp,
  stoppedClock,
  storeError,
  THIRD,
  thrown,
  untyped,
} from '../support/keyring.ts';

const es = await makePair('ES256', 'first');
const second = await makePair('EdDSA', 'second');
const half = ({ alg, kid, privateKey }: Pair) => ({ alg, kid, privateKey });
const now = () => START;
const signing = {
  issuer: ISSUER,
  audience: AUDIENCE,
  privateKey: es.privateKey,
  alg: 'ES256',
  kid: 'first',
  now,
} as const;
const taking = {
  issuer: ISSUER,
  audience: AUDIENCE,
  jwks: { keys: [es.publicKey] },
  algorithms: ['ES256'],
  catalog,
  now,
} as const;

describe('exchange', () => {
  it.each(ALGS)('signs with %s what the verifier takes', async (alg) => {
    const pair = await makePair(alg);
    const issuer = createTokenIssuer({ ...signing, ...half(pair) });
    const verifier = createTokenVerifier({
      ...taking,
      jwks: await issuer.jwks(),
      algorithms: [alg],
    });
    const { accessToken, ...rest } = await issuer.exchange(principal);
    expect(rest).toEqual({
      tokenType: 'Bearer',
      expiresIn: 900,
      scope: 'threats:read threats:write',
    });
    expect(decodeProtectedHeader(accessToken)).toEqual({ alg, typ: 'at+jwt', kid: alg });
    const { jti, ...claims } = decodeJwt(accessToken);
    const { jti: _, ...expected } = CLAIMS;
    expect(claims).toEqual(expected);
    expect(jti).toMatch(/^[0-9a-f-]{36}$/);
    const { name, metadata, via, expiresAt, ...same } = await verifier.verify(accessToken);
    expect({ name, metadata, via, expiresAt }).toEqual({
      name: '',
      metadata: {},
      via: 'jwt',
      expiresAt: (NOW + 900) * 1000,
    });
    const { keyId, entityUuid, accessibleEntities, scopes } = principal;
    expect(same).toEqual({ keyId, entityUuid, accessibleEntities, scopes });
  });

  it('gives each token an id of its own', async () => {
    const issuer = createTokenIssuer(signing);
    const ids = await Promise.all(
      [1, 2, 3].map(async () => decodeJwt((await issuer.exchange(principal)).accessToken).jti),
    );
    expect(new Set(ids).size).toBe(3);
  });

  it('narrows scopes, entities and life', async () => {
    const issuer = createTokenIssuer({ ...signing, ttlSeconds: 600 });
    const input = { scopes: ['threats:write'], accessibleEntities: [OWN], ttlSeconds: 60 };
    const token = await issuer.exchange(principal, input);
    expect(token).toMatchObject({ scope: 'threats:write', expiresIn: 60 });
    expect(decodeJwt(token.accessToken)).toMatchObject({
      accessible_entities: [OWN],
      exp: NOW + 60,
    });
    expect((await issuer.exchange(principal)).expiresIn).toBe(600);
    // Its own entity is always there, and asking for nothing gives nothing.
    const least = await issuer.exchange(principal, { scopes: [], accessibleEntities: [] });
    expect(least.scope).toBe('');
    const verified = await createTokenVerifier(taking).verify(least.accessToken);
    expect(verified).toMatchObject({ scopes: [], accessibleEntities: [OWN] });
  });

  it('ends with the key, in whole seconds and never later', async () => {
    const issuer = createTokenIssuer(signing);
    const ending = (expiresAt: number) => testPrincipal({ catalog, scopes: [], expiresAt });
    expect((await issuer.exchange(ending(START + 5_999))).expiresIn).toBe(5);
    expect((await issuer.exchange(ending(START + HOUR))).expiresIn).toBe(900);
    await denied(() => issuer.exchange(ending(START + 999)), 'invalid_token', 'expired');
    await denied(() => issuer.exchange(ending(START - HOUR)), 'invalid_token', 'expired');
  });

  it('leaves out a scope that the catalog no longer has', async () => {
    const { keyring, store } = setUp();
    const { key } = await keyring.issue(
      { ...PLAIN, scopes: ['threats:read', 'decoys:read'] },
      AUTHORITY,
    );
    const smaller = defineScopes({ decoys: { read: 'List and read decoys.' } });
    const later = setUp({ store, catalog: untyped<typeof catalog>(smaller) });
    const known = await later.keyring.verify(key);
    expect(known.scopes).toEqual(['threats:read', 'decoys:read']);
    const issuer = createTokenIssuer(signing);
    expect((await issuer.exchange(known)).scope).toBe('decoys:read');
    await expect(issuer.exchange(known, { scopes: ['threats:read'] })).rejects.toMatchObject({
      code: 'invalid_scope',
    });
  });

  const REFUSED: readonly (readonly [string, string, unknown])[] = [
    ['a scope that was not granted', 'invalid_scope', { scopes: ['users:delete'] }],
    [
      'a granted scope and one that was not',
      'invalid_scope',
      { scopes: ['threats:read', 'decoys:read'] },
    ],
    ['a wildcard', 'invalid_scope', { scopes: ['threats:*'] }],
    ['what is no scope', 'invalid_scope', { scopes: [''] }],
    [
      'an entity that the key cannot address',
      'invalid_target',
      { accessibleEntities: [OWN, THIRD] },
    ],
    ['a life that is too long', 'invalid_request', { ttlSeconds: 901 }],
    ['no life', 'invalid_request', { ttlSeconds: 0 }],
    ['a life as text', 'invalid_request', { ttlSeconds: '60' }],
    ['scopes as text', 'invalid_request', { scopes: 'threats:read' }],
    ['a scope that is no text', 'invalid_request', { scopes: [7] }],
    ['an entity that is no UUID', 'invalid_request', { accessibleEntities: ['own'] }],
    ['entities as text', 'invalid_request', { accessibleEntities: OWN }],
    [
      'more entities than a key has',
      'invalid_request',
      { accessibleEntities: Array.from({ length: 1001 }, () => crypto.randomUUID()) },
    ],
    ['an unknown field', 'invalid_request', { scope: 'threats:read' }],
    ['null', 'invalid_request', null],
    ['a list', 'invalid_request', []],
  ];
  it.each(REFUSED)('refuses %s as %s', async (_what, code, input) => {
    const error = await thrown(() =>
      createTokenIssuer(signing).exchange(principal, input as ExchangeInput),
    );
    expect(error).toBeInstanceOf(ExchangeError);
    if (!isExchangeError(error)) throw error;
    expect([error.code, error.name]).toEqual([code, 'ExchangeError']);
    expect(Object.keys(error)).toEqual(['code']);
  });

  it('hands on what is no fault of the request', async () => {
    const get = (): never => {
      throw new RangeError('a bug of the caller');
    };
    const scopes = Object.defineProperty([] as string[], 0, { get });
    for (const input of [
      Object.defineProperty({}, 'scopes', { get, enumerable: true }),
      { scopes },
    ])
      expect(
        await thrown(() => createTokenIssuer(signing).exchange(principal, input)),
      ).toBeInstanceOf(RangeError);
  });

  it('knows the errors of another copy of the package, and no others', () => {
    const brand = { [Symbol.for('keyscope.ExchangeError')]: true };
    expect(
      [brand, new ExchangeError('invalid_scope', ''), new Error(), null, undefined].map(
        isExchangeError,
      ),
    ).toEqual([true, true, false, false, false]);
  });

  it('takes nothing but a principal that a keyring made', async () => {
    const issuer = createTokenIssuer(signing);
    for (const odd of [{ ...principal }, structuredClone(principal), null, undefined, {}]) {
      expect(await thrown(() => issuer.exchange(odd as Principal))).toBeInstanceOf(TypeError);
    }
  });

  it('keeps the key that it was given, and hands out copies', async () => {
    const [privateKey, other] = [structuredClone(es.privateKey), structuredClone(second.publicKey)];
    const issuer = createTokenIssuer({ ...signing, privateKey, otherKeys: [other] });
    Object.assign(privateKey, { d: 'x' });
    Object.assign(other, { d: 'x' });
    Object.assign((await issuer.jwks()).keys[1] ?? {}, { x: 'x' });
    expect((await issuer.jwks()).keys[1]).toEqual(second.publicKey);
    const { accessToken } = await issuer.exchange(principal);
    expect((await createTokenVerifier(taking).verify(accessToken)).keyId).toBe(KEY_ID);
  });

  it('says so where the token would be longer than doors take', async () => {
    const many = Array.from(
      { length: 400 },
      (_, i) => `${String(i).padStart(8, '0')}-0000-4000-8000-000000000000`,
    );
    const wide = testPrincipal({ catalog, scopes: [], accessibleEntities: many });
    const issuer = createTokenIssuer(signing);
    await expect(issuer.exchange(wide)).rejects.toMatchObject({ code: 'invalid_target' });
    expect(
      (await issuer.exchange(wide, { accessibleEntities: many.slice(0, 200) })).tokenType,
    ).toBe('Bearer');
  });

  it('makes none that a header cannot carry, however many entities are asked for', async () => {
    const many = Array.from(
      { length: 400 },
      (_, i) => `${String(i).padStart(8, '0')}-0000-4000-8000-000000000000`,
    );
    const wide = testPrincipal({ catalog, scopes: [], accessibleEntities: many });
    const issuer = createTokenIssuer(signing);
    for (let n = 250; n <= 400; n += 10) {
      const made = await issuer
        .exchange(wide, { accessibleEntities: many.slice(0, n) })
        .catch(() => null);
      if (made)
        expect([n, parseAuthorization(`Bearer ${made.accessToken}`).kind]).toEqual([n, 'bearer']);
    }
  });

  it('is broken infrastructure where the clock is', async () => {
    await storeError(() =>
      createTokenIssuer({ ...signing, now: () => Number.NaN }).exchange(principal),
    );
    const { accessToken } = await createTokenIssuer(signing).exchange(principal);
    await storeError(() =>
      createTokenVerifier({ ...taking, now: () => Number.NaN }).verify(accessToken),
    );
  });

  it('never yields scopes, entities or life beyond the parent', async () => {
    const entities = [OWN, OTHER, THIRD];
    const issuer = createTokenIssuer({ ...signing, ttlSeconds: 900, ...half(second) });
    const verifier = createTokenVerifier({
      ...taking,
      jwks: await issuer.jwks(),
      algorithms: ['EdDSA'],
      maxTtlSeconds: 900,
    });
    const parents = fc.record({
      scopes: fc.subarray([...catalog.all]),
      accessibleEntities: fc.subarray(entities),
      expiresAt: fc.option(fc.integer({ min: START - 5_000, max: START + 1_000_000 })),
    });
    const odd = fc.constantFrom('*:*', 'threats:*', '', 'nobody:knows', ' threats:read');
    const inputs = fc.record(
      {
        scopes: fc.array(fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...catalog.all) }, odd), {
          maxLength: 3,
        }),
        accessibleEntities: fc.subarray(entities),
        ttlSeconds: fc.integer({ min: -1, max: 1000 }),
      },
      { requiredKeys: [] },
    );
    let [tried, yielded] = [0, 0];
    const property = fc.asyncProperty(parents, inputs, async ({ scopes, ...reach }, input) => {
      const parent = testPrincipal({ catalog, scopes: [...scopes], entityUuid: OWN, ...reach });
      tried++;
      const token = await issuer.exchange(parent, input).catch(() => null);
      if (token === null) return;
      yielded++;
      const child = await verifier.verify(token.accessToken);
      expect(child.scopes.every((scope) => hasScopes(parent, scope))).toBe(true);
      expect(child.accessibleEntities.every((entity) => canAddress(parent, entity))).toBe(true);
      expect([child.keyId, child.entityUuid]).toEqual([parent.keyId, parent.entityUuid]);
      const end = Number(child.expiresAt);
      expect(end <= START + 900_000 && end <= (parent.expiresAt ?? Number.POSITIVE_INFINITY)).toBe(
        true,
      );
      // What was asked for, where it was had, and all of it where nothing was asked.
      expect([...child.scopes].sort()).toEqual([...new Set(input.scopes ?? parent.scopes)].sort());
      expect([...child.accessibleEntities].sort()).toEqual(
        [...new Set([OWN, ...(input.accessibleEntities ?? parent.accessibleEntities)])].sort(),
      );
    });
    await fc.assert(property);
    // Both ways are taken often.
    expect(yielded).toBeGreaterThan(tried / 10);
    expect(yielded).toBeLessThan((9 * tried) / 10);
  }, 60_000);
});

describe('createTokenIssuer', () => {
  it.each([
    ['nothing', undefined, /pass an object/],
    ['an unknown option', { ...signing, secret: 'x' }, /unknown field "secret"/],
    ['no issuer', { ...signing, issuer: '' }, /issuer: pass a text/],
    ['no audience', { ...signing, audience: undefined }, /audience: pass a text/],
    ['no kid', { ...signing, kid: undefined }, /kid: pass a text/],
    ['a long kid', { ...signing, kid: 'k'.repeat(129) }, /kid/],
    ['a shared secret', { ...signing, alg: 'HS256' }, /alg: pass one of ES256/],
    ['no signature', { ...signing, alg: 'none' }, /alg: pass one of/],
    ['a life of a day and a second', { ...signing, ttlSeconds: 86_401 }, /ttlSeconds/],
    [
      'a private key to publish',
      { ...signing, otherKeys: [second.privateKey] },
      /public keys; one of them is private/,
    ],
    [
      'a key to publish without kid',
      { ...signing, otherKeys: [{ ...second.publicKey, kid: undefined }] },
      /wants its kid/,
    ],
    [
      'what is no list of keys',
      { ...signing, otherKeys: { keys: [] } },
      /otherKeys: pass a list of public JWKs/,
    ],
    ['two keys of one kid', { ...signing, otherKeys: [es.publicKey] }, /kid of the signing key/],
    ['a clock that is none', { ...signing, now: 7 }, /now: pass a function/],
  ])('refuses %s at start', (_what, options, message) => {
    expect(() => createTokenIssuer(options as TokenIssuerOptions)).toThrow(TypeError);
    expect(() => createTokenIssuer(options as TokenIssuerOptions)).toThrow(message);
  });

  it('rotates by kid: what either key signed is taken while both are published', async () => {
    const before = createTokenIssuer({ ...signing, otherKeys: [second.publicKey] });
    const after = createTokenIssuer({ ...signing, ...half(second), otherKeys: [es.publicKey] });
    const last = createTokenIssuer({ ...signing, ...half(second) });
    const tokens = [
      (await before.exchange(principal)).accessToken,
      (await after.exchange(principal)).accessToken,
    ];
    const taken = async (issuer: typeof last) => {
      const verifier = createTokenVerifier({
        ...taking,
        jwks: await issuer.jwks(),
        algorithms: ['ES256', 'EdDSA'],
      });
      return Promise.all(
        tokens.map((token) =>
          verifier.verify(token).then(
            () => true,
            () => false,
          ),
        ),
      );
    };
    expect(await taken(before)).toEqual([true, true]);
    expect(await taken(after)).toEqual([true, true]);
    expect(await taken(last)).toEqual([false, true]);
  });
});

describe('createTokenVerifier', () => {
  it.each([
    ['nothing', undefined, /pass an object/],
    ['an unknown option', { ...taking, clockTolerance: 60 }, /unknown field "clockTolerance"/],
    ['no issuer', { ...taking, issuer: undefined }, /issuer/],
    ['no audience', { ...taking, audience: '' }, /audience/],
    ['no algorithm', { ...taking, algorithms: [] }, /name at least one/],
    [
      'a shared secret',
      { ...taking, algorithms: ['ES256', 'HS256'] },
      /algorithms: element 1: pass one of ES256.*, not "HS256"/,
    ],
    ['no catalog', { ...taking, catalog: undefined }, /catalog/],
    ['a life of two days', { ...taking, maxTtlSeconds: 172_800 }, /maxTtlSeconds/],
    ['no keys', { ...taking, jwks: undefined }, /jwks: pass \{ keys/],
    [
      'a private key',
      { ...taking, jwks: { keys: [{ ...es.privateKey, kid: 'x' }] } },
      /private or symmetric/,
    ],
    [
      'a symmetric key',
      { ...taking, jwks: { keys: [{ kty: 'oct', k: 'AAAA', kid: 'x' }] } },
      /private or symmetric/,
    ],
    ['no key at all', { ...taking, jwks: { keys: [] } }, /none of the keys is for ES256/],
    [
      'keys of another kind',
      { ...taking, jwks: { keys: [second.publicKey] } },
      /none of the keys is for ES256/,
    ],
    [
      'a name and no key',
      { ...taking, jwks: { keys: [{ kid: 'x' }] } },
      /none of the keys is for ES256/,
    ],
    [
      'a URL with a password',
      { ...taking, jwks: new URL('https://u:p@acme.example/jwks') },
      /without credentials/,
    ],
    [
      'two keys of one kid',
      { ...taking, jwks: { keys: [es.publicKey, es.publicKey] } },
      /two keys have one kid/,
    ],
    ['keys over plain http', { ...taking, jwks: new URL('http://acme.example/jwks') }, /https URL/],
    ['keys from a file', { ...taking, jwks: new URL('file:///etc/jwks') }, /https URL/],
    [
      'an address as text',
      { ...taking, jwks: 'https://acme.example/jwks' },
      /jwks: this is a text; pass new URL/,
    ],
    ['a list of keys', { ...taking, jwks: [es.publicKey] }, /jwks: pass \{ keys/],
    ['null as a key', { ...taking, jwks: { keys: [null, es.publicKey] } }, /wants its kid/],
    [
      'a key of which the kid is empty',
      { ...taking, jwks: { keys: [{ ...es.publicKey, kid: '' }] } },
      /wants its kid/,
    ],
    [
      'two keys of which one has no kid',
      { ...taking, jwks: { keys: [es.publicKey, { ...second.publicKey, kid: undefined }] } },
      /wants its kid, 1 to 128 characters, as tokens name it/,
    ],
    [
      'one key without kid for another algorithm',
      { ...taking, jwks: { keys: [{ kty: 'RSA' }] } },
      /none of the keys/,
    ],
    ['a clock that is none', { ...taking, now: 'now' }, /now: pass a function/],
  ])('refuses %s at start', (_what, options, message) => {
    expect(() => createTokenVerifier(options as unknown as TokenVerifierOptions)).toThrow(
      TypeError,
    );
    expect(() => createTokenVerifier(options as unknown as TokenVerifierOptions)).toThrow(message);
  });

  // It was refused: whoever made both in one process had to find a place for an `await`.
  describe('a promise of keys', () => {
    const token = forge(es, {}, CLAIMS);
    const promising = (jwks: PromiseLike<unknown>) =>
      createTokenVerifier({ ...taking, jwks: untyped<Promise<{ keys: [] }>>(jwks) });
    const why = async (verifier: ReturnType<typeof promising>) =>
      Object(await storeError(() => verifier.verify(token))).cause;

    it('is taken like the keys, and checked once', async () => {
      const verifier = createTokenVerifier({ ...taking, jwks: createTokenIssuer(signing).jwks() });
      expect((await verifier.verify(token)).keyId).toBe(KEY_ID);
      await denied(
        () => verifier.verify(forge(second, {}, CLAIMS)),
        'invalid_token',
        'token_refused',
      );
      let [asked, read] = [0, 0];
      const keys = () => [++read, [es.publicKey]][1];
      const set = Object.defineProperty({}, 'keys', { get: keys });
      // biome-ignore lint/suspicious/noThenProperty: a promise that is none of the language's.
      const thenable = { then: (resolve: (value: unknown) => void) => [++asked, resolve(set)] };
      const other = promising(untyped<PromiseLike<unknown>>(thenable));
      for (let i = 0; i < 3; i++) expect((await other.verify(token)).keyId).toBe(KEY_ID);
      expect([asked, read]).toEqual([1, 1]);
    });

    it.each<[string, () => Promise<unknown>, RegExp]>([
      [
        'is a private key',
        async () => ({ keys: [es.privateKey] }),
        /^jwks: pass public keys; one of them is private/,
      ],
      ['has no keys', async () => ({}), /^jwks: pass \{ keys/],
      [
        'is for another algorithm',
        async () => ({ keys: [second.publicKey] }),
        /^jwks: none of the keys is for ES256/,
      ],
      ['is a text', async () => 'https://acme.example/jwks', /^jwks: this is a text/],
      ['rejects', () => Promise.reject(new Error('no such file')), /^no such file$/],
      ['rejects with nothing', () => Promise.reject(), /^$/],
    ])('that %s says nothing about a token: 503, each time', async (_what, make, message) => {
      const verifier = promising(make());
      // Nobody has asked yet, so this is where a rejection would be unhandled.
      await new Promise((resolve) => setTimeout(resolve, 5));
      for (let i = 0; i < 2; i++)
        expect(Object(await why(verifier)).message ?? '').toMatch(message);
      await denied(() => verifier.verify('no token'), 'invalid_token', 'token_refused');
    });

    it('that does not come is waited for once, for 5 s, and taken when it comes after all', async () => {
      const timeouts: [number, AbortController][] = [];
      onTestFinished(() => void vi.restoreAllMocks());
      vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
        const controller = new AbortController();
        timeouts.push([ms, controller]);
        return controller.signal;
      });
      let come = (_set: unknown): void => {};
      const verifier = promising(new Promise((resolve) => (come = resolve)));
      expect(timeouts).toEqual([]);
      const waiting = [1, 2].map(async () =>
        expect((await why(verifier)).message).toMatch(/did not come in time$/),
      );
      expect(timeouts.map(([ms]) => ms)).toEqual([5_000]);
      timeouts[0]?.[1].abort();
      await Promise.all(waiting);
      await why(verifier);
      expect(timeouts).toHaveLength(1);
      come({ keys: [es.publicKey] });
      await Promise.resolve();
      expect((await verifier.verify(token)).keyId).toBe(KEY_ID);
    });
  });

  it('takes a life of a day where that is said', async () => {
    const token = forge(es, {}, { ...CLAIMS, exp: NOW + 86_400 });
    await denied(() => createTokenVerifier(taking).verify(token), 'invalid_token', 'token_refused');
    expect(
      (await createTokenVerifier({ ...taking, maxTtlSeconds: 86_400 }).verify(token)).keyId,
    ).toBe(KEY_ID);
  });

  it('grants what its own catalog knows', async () => {
    const smaller = defineScopes({ threats: { read: 'List and read threats.' } });
    const verified = await createTokenVerifier({ ...taking, catalog: smaller }).verify(
      forge(es, {}, CLAIMS),
    );
    expect(verified.scopes).toEqual(['threats:read', 'threats:write']);
    expect([hasScopes(verified, 'threats:read'), hasScopes(verified, 'threats:write')]).toEqual([
      true,
      false,
    ]);
    expect(
      Object.isFrozen(verified) &&
        Object.isFrozen(verified.scopes) &&
        Object.isFrozen(verified.metadata),
    ).toBe(true);
  });

  // What exportJWK gives was refused for want of a kid; and without that check jose would have
  // refused every token.
  it('takes one key alone without a kid, whatever tokens call it, and no other key', async () => {
    const { kid: _kid, alg: _alg, use: _use, ...bare } = es.publicKey;
    const verifier = createTokenVerifier({
      ...taking,
      jwks: { keys: [bare] },
      algorithms: ['ES256', 'EdDSA'],
    });
    for (const kid of ['first', 'second'])
      expect((await verifier.verify(forge(es, { kid }, CLAIMS))).keyId).toBe(KEY_ID);
    const stranger = await makePair('ES256', 'first');
    for (const token of [
      forge(stranger, {}, CLAIMS),
      forge(second, {}, CLAIMS),
      forge(es, { kid: undefined }, CLAIMS),
    ])
      await denied(() => verifier.verify(token), 'invalid_token', 'token_refused');
  });

  it('yields a principal that nobody can change', async () => {
    const { scopes, accessibleEntities, metadata } = await createTokenVerifier(taking).verify(
      forge(es, {}, CLAIMS),
    );
    for (const part of [scopes, accessibleEntities, metadata])
      expect(Object.isFrozen(part)).toBe(true);
  });

  it('keeps the keys that it was given, whatever becomes of the object', async () => {
    const jwks = structuredClone(taking.jwks);
    const verifier = createTokenVerifier({ ...taking, jwks });
    const [key] = jwks.keys;
    Object.assign(Object(key), { x: second.publicKey.x });
    expect((await verifier.verify(forge(es, {}, CLAIMS))).keyId).toBe(KEY_ID);
  });
});

describe('a key set at an address', () => {
  const servers: { close(): unknown }[] = [];
  /** No timers: only the clocks, by which ages and intervals are counted. */
  const later = (ms: number) => vi.advanceTimersByTime(ms);
  /** The date alone, ahead or back. */
  const setClock = (ms: number) => vi.setSystemTime(Date.now() + ms);
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
    for (const server of servers.splice(0)) server.close();
  });

  /** A server that answers as `answer` says, and counts. */
  async function published(answer: (response: ServerResponse, request: IncomingMessage) => void) {
    let asked = 0;
    const server = createServer((request, response) => {
      asked++;
      answer(response, request);
    });
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const clock = stoppedClock();
    const jwks = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`);
    const verifier = createTokenVerifier({
      ...taking,
      jwks,
      algorithms: ['ES256', 'EdDSA'],
      now: clock.now,
    });
    return { verifier, clock, asked: () => asked };
  }
  const token = forge(es, {}, CLAIMS);
  const set = (...keys: unknown[]) => JSON.stringify({ keys });

  it('is fetched once, for any number of tokens', async () => {
    const { verifier, asked } = await published((response) => response.end(set(es.publicKey)));
    await Promise.all(Array.from({ length: 20 }, () => verifier.verify(token)));
    await verifier.verify(token);
    expect(asked()).toBe(1);
  });

  it('is not fetched again for every kid that somebody makes up', async () => {
    const { verifier, asked } = await published((response) => response.end(set(es.publicKey)));
    await verifier.verify(token);
    for (let i = 0; i < 20; i++) {
      await denied(
        () => verifier.verify(forge(second, { kid: `made-up-${i}` }, CLAIMS)),
        'invalid_token',
        'token_refused',
      );
    }
    expect(asked()).toBe(1);
    expect((await verifier.verify(token)).keyId).toBe(KEY_ID);
  });

  it('is not fetched for a header that no key could mend', async () => {
    const { verifier, asked } = await published((response) => response.end(set(es.publicKey)));
    for (const header of [
      { jku: 'https://attacker.example/jwks.json' },
      { kid: undefined },
      { alg: 'none' },
    ]) {
      await denied(
        () => verifier.verify(forge(es, header, CLAIMS)),
        'invalid_token',
        'token_refused',
      );
    }
    expect(asked()).toBe(0);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['an error', (response) => response.writeHead(500).end()],
    ['with a part', (response) => response.writeHead(206).end(set(es.publicKey))],
    [
      'a redirect, which is not followed',
      (response) => response.writeHead(302, { Location: '/good' }).end(),
    ],
    ['no JSON', (response) => response.end('<html>')],
    ['another shape', (response) => response.end('[]')],
    [
      'more than 64 KiB',
      (response) => response.end(JSON.stringify({ keys: [es.publicKey], pad: 'x'.repeat(65_536) })),
    ],
    ['no keys', (response) => response.end(set())],
    ['a key without kid', (response) => response.end(set({ ...es.publicKey, kid: undefined }))],
    ['a connection that is cut', (response) => response.destroy()],
  ])(
    'that answers %s says nothing about a token: 503, and no new attempt for 5 s',
    async (_what, answer) => {
      let down = true;
      const { verifier, asked } = await published((response, { url }) =>
        down && url !== '/good' ? answer(response) : response.end(set(es.publicKey)),
      );
      await storeError(() => verifier.verify(token));
      await storeError(() => verifier.verify(token));
      later(4_999);
      down = false;
      await storeError(() => verifier.verify(token));
      expect(asked()).toBe(1);
      later(1);
      expect((await verifier.verify(token)).keyId).toBe(KEY_ID);
      expect(asked()).toBe(2);
    },
  );

  it('is fetched again for a new kid, 30 s after the last time, and a key that was taken out is taken no longer', async () => {
    let keys = [es.publicKey];
    const { verifier, asked } = await published((response) => response.end(set(...keys)));
    await verifier.verify(token);
    keys = [second.publicKey];
    later(29_000);
    const next = forge(second, {}, CLAIMS);
    await denied(() => verifier.verify(next), 'invalid_token', 'token_refused');
    later(2_000);
    expect((await verifier.verify(next)).keyId).toBe(KEY_ID);
    expect(asked()).toBe(2);
    await denied(() => verifier.verify(token), 'invalid_token', 'token_refused');
    // Nobody asks for a kid that is not there: it is ten minutes that pass.
    keys = [];
    later(601_000);
    await storeError(() => verifier.verify(next));
    expect(asked()).toBe(3);
  });

  // A refetch that failed was answered with 401, and made again for every token with an unknown
  // kid.
  it('that cannot be had again is 503 to an unknown kid, asked for once in 5 s, and known keys are taken', async () => {
    let down = false;
    const { verifier, asked } = await published((response) =>
      down ? response.writeHead(500).end() : response.end(set(es.publicKey)),
    );
    await verifier.verify(token);
    down = true;
    later(31_000);
    const unknown = forge(second, {}, CLAIMS);
    for (let i = 0; i < 20; i++) await storeError(() => verifier.verify(unknown));
    expect(asked()).toBe(2);
    expect((await verifier.verify(token)).keyId).toBe(KEY_ID);
    later(5_000);
    await storeError(() => verifier.verify(unknown));
    expect(asked()).toBe(3);
  });

  // One refresh that failed, ten minutes on, was 503 to every token for five seconds.
  it('that cannot be had anew is taken until it is fifteen minutes old, and no longer', async () => {
    let down = false;
    const { verifier, asked } = await published((response) =>
      down ? response.writeHead(500).end() : response.end(set(es.publicKey)),
    );
    await verifier.verify(token);
    down = true;
    later(600_000);
    for (let i = 0; i < 20; i++) expect((await verifier.verify(token)).keyId).toBe(KEY_ID);
    // What is in no set may be in the one that cannot be had.
    await storeError(() => verifier.verify(forge(second, {}, CLAIMS)));
    await denied(
      () => verifier.verify(forge(es, {}, { ...CLAIMS, aud: 'x' })),
      'invalid_token',
      'token_refused',
    );
    expect(asked()).toBe(2);
    later(299_999);
    expect((await verifier.verify(token)).keyId).toBe(KEY_ID);
    later(1);
    await storeError(() => verifier.verify(token));
    expect(asked()).toBe(3);
    down = false;
    later(5_000);
    expect((await verifier.verify(token)).keyId).toBe(KEY_ID);
  });

  // While the server did not answer, every token waited 5 s for it, again and again, though its key
  // was known.
  it('that is waited for once is then fetched beside the tokens whose keys are known', async () => {
    let [keys, answers] = [[es.publicKey], 'at once'];
    let send = () => {};
    const { verifier, asked } = await published((response) => {
      send = () => response.end(set(...keys));
      if (answers === 'at once') send();
      if (answers === 'broken') response.writeHead(500).end();
    });
    await verifier.verify(token);
    answers = 'broken';
    later(600_000);
    await verifier.verify(token);
    answers = 'never';
    later(5_000);
    for (let i = 0; i < 20; i++) expect((await verifier.verify(token)).keyId).toBe(KEY_ID);
    // It has not been given up: what is not known is awaited, and what it brings counts from then
    // on.
    keys = [second.publicKey];
    const next = verifier.verify(forge(second, {}, CLAIMS));
    await vi.waitUntil(() => asked() === 3);
    send();
    expect((await next).keyId).toBe(KEY_ID);
    await denied(() => verifier.verify(token), 'invalid_token', 'token_refused');
    expect(asked()).toBe(3);
  });

  // Of a set that was had while the clock was a day ahead, keys were taken for a day after they had
  // been taken out.
  it.each(['while', 'before'])(
    'that was had %s the clock was ahead is not taken once that is set right',
    async (when) => {
      let keys = [es.publicKey];
      let onTheWay = () => {};
      const { verifier, asked } = await published((response) => {
        onTheWay();
        response.end(set(...keys));
      });
      // Ahead from the start, or not before the set is on its way.
      if (when === 'while') setClock(86_400_000);
      else onTheWay = () => setClock(86_400_000);
      await verifier.verify(token);
      onTheWay = () => {};
      setClock(-86_400_000);
      keys = [second.publicKey];
      await denied(() => verifier.verify(token), 'invalid_token', 'token_refused');
      expect((await verifier.verify(forge(second, {}, CLAIMS))).keyId).toBe(KEY_ID);
      expect(asked()).toBe(2);
    },
  );

  // It was forgotten, and every token refused until the key server was back.
  it('that cannot be had again after the clock was set back is taken for fifteen minutes in all, asleep or awake', async () => {
    let down = false;
    const { verifier, asked } = await published((response) =>
      down ? response.writeHead(500).end() : response.end(set(es.publicKey)),
    );
    await verifier.verify(token);
    down = true;
    later(300_000);
    setClock(-86_400_000);
    for (let i = 0; i < 20; i++) expect((await verifier.verify(token)).keyId).toBe(KEY_ID);
    expect(asked()).toBe(2);
    later(599_999);
    expect((await verifier.verify(token)).keyId).toBe(KEY_ID);
    later(1);
    await storeError(() => verifier.verify(token));
    // Nor does the pause after a failure grow by what the clock is set back.
    setClock(-86_400_000);
    down = false;
    later(5_000);
    await verifier.verify(token);
    // While the machine sleeps, the date alone goes on.
    down = true;
    setClock(899_999);
    expect((await verifier.verify(token)).keyId).toBe(KEY_ID);
    setClock(1);
    await storeError(() => verifier.verify(token));
  });

  // A token that expired while the keys were fetched was let in.
  it('that takes its time lets no token in that has expired meanwhile', async () => {
    let arrive = () => {};
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    let send = () => {};
    const { verifier, clock } = await published((response) => {
      send = () => response.end(set(es.publicKey));
      arrive();
    });
    const verifying = verifier.verify(token);
    await arrived;
    clock.set((NOW + 900) * 1000);
    send();
    await denied(() => verifying, 'invalid_token', 'token_refused');
  });

  it('with a key that cannot be used is broken, and not the token', async () => {
    const { verifier } = await published((response) =>
      response.end(set({ ...es.publicKey, x: 'AAAA' })),
    );
    await storeError(() => verifier.verify(token));
  });
});
