/** The rights that a token may carry, and the errors of other requests. */
import fc from 'fast-check';
import { decodeJwt } from 'jose';
import type { Principal } from 'keyscope';
import { canAddress, defineScopes, hasScopes } from 'keyscope';
import type { ExchangeInput } from 'keyscope/jwt';
import {
  createTokenIssuer,
  createTokenVerifier,
  ExchangeError,
  isExchangeError,
} from 'keyscope/jwt';
import { testPrincipal } from 'keyscope/testing';
import { describe, expect, it } from 'vitest';
import { ACCEPTING, NOW, principal, SECOND, SIGNING, signingWith } from '../support/jwt.ts';
import {
  AUTHORITY,
  catalog,
  OTHER,
  OWN,
  PLAIN,
  START,
  setUp,
  THIRD,
  thrown,
  untyped,
} from '../support/keyring.ts';

describe('exchange', () => {
  it('narrows scopes, entities and lifetime', async () => {
    const issuer = createTokenIssuer({ ...SIGNING, ttlSeconds: 600 });
    const input = { scopes: ['threats:write'], accessibleEntities: [OWN], ttlSeconds: 60 };
    const token = await issuer.exchange(principal, input);
    expect(token).toMatchObject({ scope: 'threats:write', expiresIn: 60 });
    expect(decodeJwt(token.accessToken)).toMatchObject({
      accessible_entities: [OWN],
      exp: NOW + 60,
    });
    expect((await issuer.exchange(principal)).expiresIn).toBe(600);
    // The own entity is always included, and an empty list of scopes gives none.
    const least = await issuer.exchange(principal, { scopes: [], accessibleEntities: [] });
    expect(least.scope).toBe('');
    const verified = await createTokenVerifier(ACCEPTING).verify(least.accessToken);
    expect(verified).toMatchObject({ scopes: [], accessibleEntities: [OWN] });
  });

  it('omits scopes that the catalog no longer has', async () => {
    const { keyring, store } = setUp();
    const input = { ...PLAIN, scopes: ['threats:read', 'decoys:read'] } as const;
    const { key } = await keyring.issue(input, AUTHORITY);
    const smaller = defineScopes({ decoys: { read: 'List and read decoys.' } });
    const later = setUp({ store, catalog: untyped<typeof catalog>(smaller) });
    const known = await later.keyring.verify(key);
    expect(known.scopes).toEqual(['threats:read', 'decoys:read']);
    const issuer = createTokenIssuer(SIGNING);
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
    ['an empty text as a scope', 'invalid_scope', { scopes: [''] }],
    [
      'an entity that the key cannot address',
      'invalid_target',
      { accessibleEntities: [OWN, THIRD] },
    ],
    ['a lifetime that is too long', 'invalid_request', { ttlSeconds: 901 }],
    ['a lifetime of 0', 'invalid_request', { ttlSeconds: 0 }],
    ['a lifetime as a text', 'invalid_request', { ttlSeconds: '60' }],
    ['scopes as a text', 'invalid_request', { scopes: 'threats:read' }],
    ['a scope that is not a text', 'invalid_request', { scopes: [7] }],
    ['a malformed entity', 'invalid_request', { accessibleEntities: ['o wn'] }],
    ['entities as a text', 'invalid_request', { accessibleEntities: OWN }],
    [
      'more entities than a key has',
      'invalid_request',
      { accessibleEntities: Array.from({ length: 1001 }, () => crypto.randomUUID()) },
    ],
    ['an unknown field', 'invalid_request', { scope: 'threats:read' }],
    ['null', 'invalid_request', null],
    ['a list', 'invalid_request', []],
  ];
  it.each(REFUSED)('rejects %s as %s', async (_what, code, input) => {
    const issuer = createTokenIssuer(SIGNING);
    const error = await thrown(() => issuer.exchange(principal, input as ExchangeInput));
    expect(error).toBeInstanceOf(ExchangeError);
    if (!isExchangeError(error)) throw error;
    expect([error.code, error.name]).toEqual([code, 'ExchangeError']);
    expect(Object.keys(error)).toEqual(['code']);
  });

  it('rethrows errors that the request did not cause', async () => {
    const get = (): never => {
      throw new RangeError('a bug of the caller');
    };
    const scopes = Object.defineProperty([] as string[], 0, { get });
    const issuer = createTokenIssuer(SIGNING);
    const inputs = [Object.defineProperty({}, 'scopes', { get, enumerable: true }), { scopes }];
    for (const input of inputs) {
      const error = await thrown(() => issuer.exchange(principal, input));
      expect(error).toBeInstanceOf(RangeError);
    }
  });

  it('recognises errors of another copy of the package, but no others', () => {
    const branded = { [Symbol.for('keyscope.ExchangeError')]: true };
    const own = new ExchangeError('invalid_scope', '');
    expect([branded, own].map(isExchangeError)).toEqual([true, true]);
    expect([new Error(), null, undefined].map(isExchangeError)).toEqual([false, false, false]);
  });

  it('accepts only principals from a keyring', async () => {
    const issuer = createTokenIssuer(SIGNING);
    for (const odd of [{ ...principal }, structuredClone(principal), null, undefined, {}]) {
      expect(await thrown(() => issuer.exchange(odd as Principal))).toBeInstanceOf(TypeError);
    }
  });
});

describe('exchange, for any request', () => {
  const entities = [OWN, OTHER, THIRD];
  const parents = fc.record({
    scopes: fc.subarray([...catalog.all]),
    accessibleEntities: fc.subarray(entities),
    expiresAt: fc.option(fc.integer({ min: START - 5_000, max: START + 1_000_000 })),
  });
  const odd = fc.constantFrom('*:*', 'threats:*', '', 'nobody:knows', ' threats:read');
  const scope = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...catalog.all) }, odd);
  const fields = {
    scopes: fc.array(scope, { maxLength: 3 }),
    accessibleEntities: fc.subarray(entities),
    ttlSeconds: fc.integer({ min: -1, max: 1000 }),
  };
  const inputs = fc.record(fields, { requiredKeys: [] });

  /** Whether the token has no more rights than the parent. */
  function expectWithin(child: Principal, parent: Principal): void {
    expect(child.scopes.every((scope) => hasScopes(parent, scope))).toBe(true);
    expect(child.accessibleEntities.every((entity) => canAddress(parent, entity))).toBe(true);
    expect([child.keyId, child.entityId]).toEqual([parent.keyId, parent.entityId]);
    const end = Number(child.expiresAt);
    expect(end).toBeLessThanOrEqual(START + 900_000);
    expect(end).toBeLessThanOrEqual(parent.expiresAt ?? Number.POSITIVE_INFINITY);
  }

  /** Whether the token has the requested rights, or those of the parent by default. */
  function expectAsked(child: Principal, parent: Principal, input: ExchangeInput): void {
    const askedScopes = new Set(input.scopes ?? parent.scopes);
    expect([...child.scopes].sort()).toEqual([...askedScopes].sort());
    const askedEntities = input.accessibleEntities ?? parent.accessibleEntities;
    const reachable = new Set([OWN, ...askedEntities]);
    expect([...child.accessibleEntities].sort()).toEqual([...reachable].sort());
  }

  it('never grants scopes, entities or lifetime beyond the parent', async () => {
    const issuer = createTokenIssuer({ ...SIGNING, ...signingWith(SECOND) });
    const jwks = await issuer.jwks();
    const verifier = createTokenVerifier({ ...ACCEPTING, jwks, algorithms: ['EdDSA'] });
    let tried = 0;
    let yielded = 0;
    const property = fc.asyncProperty(parents, inputs, async ({ scopes, ...reach }, input) => {
      const parent = testPrincipal({ catalog, scopes: [...scopes], entityId: OWN, ...reach });
      tried++;
      const token = await issuer.exchange(parent, input).catch(() => null);
      if (token === null) return;
      yielded++;
      const child = await verifier.verify(token.accessToken);
      expectWithin(child, parent);
      expectAsked(child, parent, input);
    });
    await fc.assert(property);
    // Both branches run often.
    expect(yielded).toBeGreaterThan(tried / 10);
    expect(yielded).toBeLessThan((9 * tried) / 10);
  }, 60_000);
});
