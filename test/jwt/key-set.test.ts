/** The keys that a verifier is given: which sets are accepted, and which of their keys is meant. */
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

describe('the keys of a verifier', () => {
  const first = FIRST.publicKey;
  const second = SECOND.publicKey;

  it.each<[string, unknown, RegExp]>([
    ['no keys', undefined, /jwks: pass \{ keys/],
    ['a private key', { keys: [{ ...FIRST.privateKey, kid: 'x' }] }, /private or symmetric/],
    ['a symmetric key', { keys: [{ kty: 'oct', k: 'AAAA', kid: 'x' }] }, /private or symmetric/],
    ['no key at all', { keys: [] }, /no key fits the algorithms ES256/],
    ['keys of another kind', { keys: [second] }, /no key fits the algorithms ES256/],
    ['a kid without a key', { keys: [{ kid: 'x' }] }, /no key fits the algorithms ES256/],
    ['a URL with a password', new URL('https://u:p@acme.example/jwks'), /without credentials/],
    ['two keys of one kid', { keys: [first, first] }, /two keys have the same kid/],
    ['keys over plain http', new URL('http://acme.example/jwks'), /https URL/],
    ['keys from a file', new URL('file:///etc/jwks'), /https URL/],
    ['an address as a text', 'https://acme.example/jwks', /jwks: not a text\. Pass new URL/],
    ['a list of keys', [first], /jwks: pass \{ keys/],
    ['null as a key', { keys: [null, first] }, /needs a kid/],
    ['null as the only key', { keys: [null] }, /needs a kid/],
    ['a key of which the kid is empty', { keys: [{ ...first, kid: '' }] }, /needs a kid/],
    [
      'two keys of which one has no kid',
      { keys: [first, { ...second, kid: undefined }] },
      /needs a kid, 1 to 128 characters, as tokens name it/,
    ],
    ['one key without kid for another algorithm', { keys: [{ kty: 'RSA' }] }, /none of the keys/],
  ])('reject %s at start-up', (_what, jwks, message) => {
    const options = untyped<TokenVerifierOptions>({ ...ACCEPTING, jwks });
    expect(() => createTokenVerifier(options)).toThrow(TypeError);
    expect(() => createTokenVerifier(options)).toThrow(message);
  });

  // This is what exportJWK returns. It was refused for want of a kid; and without that check, jose
  // would have refused every token.
  it('accept one key alone without a kid, whatever tokens call it, and no other key', async () => {
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

  it('are copied, whatever becomes of the object', async () => {
    const jwks = structuredClone(ACCEPTING.jwks);
    const verifier = createTokenVerifier({ ...ACCEPTING, jwks });
    Object.assign(jwks.keys[0] ?? {}, { x: second.x });
    await expectAccepted(verifier, forge(FIRST, {}, CLAIMS));
  });
});
