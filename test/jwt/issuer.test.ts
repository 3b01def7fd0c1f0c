/** Issuing tokens: their contents and lifetime, and the published keys. */
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { parseAuthorization } from 'keyscope';
import type { TokenIssuer, TokenIssuerOptions } from 'keyscope/jwt';
import { createTokenIssuer, createTokenVerifier } from 'keyscope/jwt';
import { testPrincipal } from 'keyscope/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  ACCEPTING,
  ALGS,
  accepts,
  CLAIMS,
  expectAccepted,
  expectRefused,
  FIRST,
  makePair,
  NOW,
  principal,
  SECOND,
  SIGNING,
  signingWith,
} from '../support/jwt.ts';
import { catalog, denied, HOUR, START, storeError } from '../support/keyring.ts';

/** A principal with more entities than a header can carry. */
const MANY = Array.from({ length: 400 }, (_, index) => {
  const digits = String(index).padStart(8, '0');
  return `${digits}-0000-4000-8000-000000000000`;
});
const WIDE = testPrincipal({ catalog, scopes: [], accessibleEntities: MANY });

describe('a token', () => {
  it.each(ALGS)('signed with %s is accepted by the verifier', async (alg) => {
    const pair = await makePair(alg);
    const issuer = createTokenIssuer({ ...SIGNING, ...signingWith(pair) });
    const jwks = await issuer.jwks();
    const verifier = createTokenVerifier({ ...ACCEPTING, jwks, algorithms: [alg] });
    const { accessToken, ...rest } = await issuer.exchange(principal);
    const scope = 'threats:read threats:write';
    expect(rest).toEqual({ tokenType: 'Bearer', expiresIn: 900, scope });
    expect(decodeProtectedHeader(accessToken)).toEqual({ alg, typ: 'at+jwt', kid: alg });
    const { jti, ...claims } = decodeJwt(accessToken);
    const { jti: _, ...expected } = CLAIMS;
    expect(claims).toEqual(expected);
    expect(jti).toMatch(/^[0-9a-f-]{36}$/);
    const { keyId, entityId, accessibleEntities, scopes } = principal;
    expect({ ...(await verifier.verify(accessToken)) }).toEqual({
      keyId,
      entityId,
      accessibleEntities,
      scopes,
      name: '',
      metadata: {},
      via: 'jwt',
      expiresAt: (NOW + 900) * 1000,
    });
  });

  it('has a unique id', async () => {
    const issuer = createTokenIssuer(SIGNING);
    const tokens = await Promise.all([1, 2, 3].map(() => issuer.exchange(principal)));
    const ids = tokens.map(({ accessToken }) => decodeJwt(accessToken).jti);
    expect(new Set(ids).size).toBe(3);
  });

  it('expires with the key, rounded down to seconds', async () => {
    const issuer = createTokenIssuer(SIGNING);
    const ending = (expiresAt: number) => testPrincipal({ catalog, scopes: [], expiresAt });
    expect((await issuer.exchange(ending(START + 5_999))).expiresIn).toBe(5);
    expect((await issuer.exchange(ending(START + HOUR))).expiresIn).toBe(900);
    await denied(() => issuer.exchange(ending(START + 999)), 'invalid_token', 'expired');
    await denied(() => issuer.exchange(ending(START - HOUR)), 'invalid_token', 'expired');
  });

  it('is not issued if a header cannot carry it', async () => {
    const issuer = createTokenIssuer(SIGNING);
    await expect(issuer.exchange(WIDE)).rejects.toMatchObject({ code: 'invalid_target' });
    const fewer = await issuer.exchange(WIDE, { accessibleEntities: MANY.slice(0, 200) });
    expect(fewer.tokenType).toBe('Bearer');
  });

  it('always fits into a header if it is issued', async () => {
    const issuer = createTokenIssuer(SIGNING);
    for (let count = 250; count <= 400; count += 10) {
      const input = { accessibleEntities: MANY.slice(0, count) };
      const made = await issuer.exchange(WIDE, input).catch(() => null);
      if (made === null) continue;
      const { kind } = parseAuthorization(`Bearer ${made.accessToken}`);
      expect([count, kind]).toEqual([count, 'bearer']);
    }
  });

  it('uses the clock of the machine by default', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: START });
    onTestFinished(() => void vi.useRealTimers());
    const issuer = createTokenIssuer({ ...SIGNING, now: undefined });
    const verifier = createTokenVerifier({ ...ACCEPTING, now: undefined });
    const { accessToken } = await issuer.exchange(principal);
    expect(decodeJwt(accessToken).iat).toBe(NOW);
    await expectAccepted(verifier, accessToken);
    vi.setSystemTime(START + 900_000);
    await expectRefused(verifier, accessToken);
  });

  it('is neither issued nor verified with a broken clock', async () => {
    const now = () => Number.NaN;
    await storeError(() => createTokenIssuer({ ...SIGNING, now }).exchange(principal));
    const { accessToken } = await createTokenIssuer(SIGNING).exchange(principal);
    await storeError(() => createTokenVerifier({ ...ACCEPTING, now }).verify(accessToken));
  });
});

describe('createTokenIssuer', () => {
  it.each([
    ['nothing', undefined, /pass an object/],
    ['an unknown option', { ...SIGNING, secret: 'x' }, /unknown field "secret"/],
    ['no issuer', { ...SIGNING, issuer: '' }, /issuer: pass a text/],
    ['no audience', { ...SIGNING, audience: undefined }, /audience: pass a text/],
    ['no kid', { ...SIGNING, kid: undefined }, /kid: pass a text/],
    ['a long kid', { ...SIGNING, kid: 'k'.repeat(129) }, /kid/],
    ['a shared secret', { ...SIGNING, alg: 'HS256' }, /alg: pass one of ES256/],
    ['the algorithm none', { ...SIGNING, alg: 'none' }, /alg: pass one of/],
    ['a lifetime of a day and a second', { ...SIGNING, ttlSeconds: 86_401 }, /ttlSeconds/],
    [
      'a private key to publish',
      { ...SIGNING, otherKeys: [SECOND.privateKey] },
      /a key is private or symmetric/,
    ],
    [
      'a key to publish without kid',
      { ...SIGNING, otherKeys: [{ ...SECOND.publicKey, kid: undefined }] },
      /give each key the kid/,
    ],
    [
      'an object as the list of keys',
      { ...SIGNING, otherKeys: { keys: [] } },
      /otherKeys: pass a list of public JWKs/,
    ],
    ['the same kid twice', { ...SIGNING, otherKeys: [FIRST.publicKey] }, /kid of the signing key/],
    ['a clock that is not a function', { ...SIGNING, now: 7 }, /now: pass a function/],
  ])('rejects %s at start-up', (_what, options, message) => {
    expect(() => createTokenIssuer(options as TokenIssuerOptions)).toThrow(TypeError);
    expect(() => createTokenIssuer(options as TokenIssuerOptions)).toThrow(message);
  });

  it('copies its keys and returns copies', async () => {
    const privateKey = structuredClone(FIRST.privateKey);
    const other = structuredClone(SECOND.publicKey);
    const issuer = createTokenIssuer({ ...SIGNING, privateKey, otherKeys: [other] });
    Object.assign(privateKey, { d: 'x' });
    Object.assign(other, { d: 'x' });
    Object.assign((await issuer.jwks()).keys[1] ?? {}, { x: 'x' });
    expect((await issuer.jwks()).keys[1]).toEqual(SECOND.publicKey);
    const { accessToken } = await issuer.exchange(principal);
    await expectAccepted(createTokenVerifier(ACCEPTING), accessToken);
  });

  it('rotates keys: verifiers accept both while both are published', async () => {
    const signsSecond = { ...SIGNING, ...signingWith(SECOND) };
    const before = createTokenIssuer({ ...SIGNING, otherKeys: [SECOND.publicKey] });
    const after = createTokenIssuer({ ...signsSecond, otherKeys: [FIRST.publicKey] });
    const last = createTokenIssuer(signsSecond);
    const tokens = [await before.exchange(principal), await after.exchange(principal)];
    const acceptedBy = async (issuer: TokenIssuer) => {
      const jwks = await issuer.jwks();
      const algorithms = ['ES256', 'EdDSA'] as const;
      const verifier = createTokenVerifier({ ...ACCEPTING, jwks, algorithms });
      return Promise.all(tokens.map(({ accessToken }) => accepts(verifier, accessToken)));
    };
    expect(await acceptedBy(before)).toEqual([true, true]);
    expect(await acceptedBy(after)).toEqual([true, true]);
    expect(await acceptedBy(last)).toEqual([false, true]);
  });
});
