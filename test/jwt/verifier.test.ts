/** The options of a verifier, and the principal of a token. */
import { defineScopes, hasScopes } from 'keyscope';
import type { TokenVerifierOptions } from 'keyscope/jwt';
import { createTokenVerifier } from 'keyscope/jwt';
import { describe, expect, it } from 'vitest';
import {
  ACCEPTING,
  CLAIMS,
  expectAccepted,
  expectRefused,
  FIRST,
  forge,
  NOW,
} from '../support/jwt.ts';
import { untyped } from '../support/keyring.ts';

const TOKEN = forge(FIRST, {}, CLAIMS);

describe('createTokenVerifier', () => {
  it.each([
    ['undefined', undefined, /pass an object/],
    ['an unknown option', { ...ACCEPTING, clockTolerance: 60 }, /unknown field "clockTolerance"/],
    ['no issuer', { ...ACCEPTING, issuer: undefined }, /issuer/],
    ['no audience', { ...ACCEPTING, audience: '' }, /audience/],
    ['an empty list of algorithms', { ...ACCEPTING, algorithms: [] }, /pass at least one/],
    [
      'a shared secret',
      { ...ACCEPTING, algorithms: ['ES256', 'HS256'] },
      /algorithms: element 1: pass one of ES256.*, not "HS256"/,
    ],
    ['no catalog', { ...ACCEPTING, catalog: undefined }, /catalog/],
    ['a lifetime of two days', { ...ACCEPTING, maxTtlSeconds: 172_800 }, /maxTtlSeconds/],
    ['a clock that is not a function', { ...ACCEPTING, now: 'now' }, /now: pass a function/],
  ])('rejects %s at start-up', (_what, options, message) => {
    const given = untyped<TokenVerifierOptions>(options);
    expect(() => createTokenVerifier(given)).toThrow(TypeError);
    expect(() => createTokenVerifier(given)).toThrow(message);
  });

  it('accepts a lifetime of a day if the options allow it', async () => {
    const token = forge(FIRST, {}, { ...CLAIMS, exp: NOW + 86_400 });
    await expectRefused(createTokenVerifier(ACCEPTING), token);
    await expectAccepted(createTokenVerifier({ ...ACCEPTING, maxTtlSeconds: 86_400 }), token);
  });

  it('grants only scopes of its own catalog', async () => {
    const smaller = defineScopes({ threats: { read: 'List and read threats.' } });
    const verified = await createTokenVerifier({ ...ACCEPTING, catalog: smaller }).verify(TOKEN);
    expect(verified.scopes).toEqual(['threats:read', 'threats:write']);
    expect(hasScopes(verified, 'threats:read')).toBe(true);
    expect(() => hasScopes(verified, 'threats:write')).toThrow(TypeError);
  });

  it('returns a frozen principal', async () => {
    const verified = await createTokenVerifier(ACCEPTING).verify(TOKEN);
    const { scopes, accessibleEntities, metadata } = verified;
    for (const part of [verified, scopes, accessibleEntities, metadata]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });
});
