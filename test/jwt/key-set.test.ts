/** The keys of a verifier: the accepted sets, and the choice of a key. */
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
  makePair,
  SECOND,
} from '../support/jwt.ts';
import { untyped } from '../support/keyring.ts';

describe('createTokenVerifier, on jwks', () => {
  const first = FIRST.publicKey;
  const second = SECOND.publicKey;

  it.each<[string, unknown, RegExp]>([
    ['undefined', undefined, /jwks: pass \{ keys/],
    ['a private key', { keys: [{ ...FIRST.privateKey, kid: 'x' }] }, /private or symmetric/],
    ['a symmetric key', { keys: [{ kty: 'oct', k: 'AAAA', kid: 'x' }] }, /private or symmetric/],
    ['an empty list of keys', { keys: [] }, /no key fits the algorithms ES256/],
    ['keys of another kind', { keys: [second] }, /no key fits the algorithms ES256/],
    ['a kid without a key', { keys: [{ kid: 'x' }] }, /no key fits the algorithms ES256/],
    ['a URL with a password', new URL('https://u:p@acme.example/jwks'), /without credentials/],
    ['two keys with the same kid', { keys: [first, first] }, /two keys have the same kid/],
    ['keys over plain http', new URL('http://acme.example/jwks'), /https URL/],
    ['keys from a file', new URL('file:///etc/jwks'), /https URL/],
    ['an address as a text', 'https://acme.example/jwks', /jwks: not a text\. Pass new URL/],
    ['a list of keys', [first], /jwks: pass \{ keys/],
    ['null as a key', { keys: [null, first] }, /give each key the kid/],
    ['null as the only key', { keys: [null] }, /give each key the kid/],
    ['a key with an empty kid', { keys: [{ ...first, kid: '' }] }, /give each key the kid/],
    [
      'two keys of which one has no kid',
      { keys: [first, { ...second, kid: undefined }] },
      /give each key the kid that tokens name, 1 to 128/,
    ],
    ['one key without kid for another algorithm', { keys: [{ kty: 'RSA' }] }, /no key fits/],
  ])('rejects %s at start-up', (_what, jwks, message) => {
    const options = untyped<TokenVerifierOptions>({ ...ACCEPTING, jwks });
    expect(() => createTokenVerifier(options)).toThrow(TypeError);
    expect(() => createTokenVerifier(options)).toThrow(message);
  });

  // Regression: a key from exportJWK, which has no kid, was rejected. Without that check, jose
  // would have rejected every token.
  it('accepts a single key without a kid, for tokens with any kid', async () => {
    const { kid: _kid, alg: _alg, use: _use, ...bare } = first;
    const jwks = { keys: [bare] };
    const algorithms = ['ES256', 'EdDSA'] as const;
    const verifier = createTokenVerifier({ ...ACCEPTING, jwks, algorithms });
    for (const kid of ['first', 'second']) {
      await expectAccepted(verifier, forge(FIRST, { kid }, CLAIMS));
    }
    const stranger = await makePair('ES256', 'first');
    await expectRefused(verifier, forge(stranger, {}, CLAIMS));
    await expectRefused(verifier, forge(SECOND, {}, CLAIMS));
    await expectRefused(verifier, forge(FIRST, { kid: undefined }, CLAIMS));
  });

  it('copies the keys', async () => {
    const jwks = structuredClone(ACCEPTING.jwks);
    const verifier = createTokenVerifier({ ...ACCEPTING, jwks });
    Object.assign(jwks.keys[0] ?? {}, { x: second.x });
    await expectAccepted(verifier, forge(FIRST, {}, CLAIMS));
  });
});
