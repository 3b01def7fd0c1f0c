/**
 * Invalid tokens. Each gets the same 401, from the verifier alone and from a keyring.
 */
import { createKeyring, isAccessError, toResponse } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterAll, describe, expect, it } from 'vitest';
import { CLAIMS, expectAccepted, forge, NOW, TOKEN_REFUSAL } from '../support/jwt.ts';
import { catalog, thrown } from '../support/keyring.ts';
import {
  ATTACKS,
  GENUINE,
  RSA,
  scopes,
  unaligned,
  VERIFIER,
  withClaims,
  withHeader,
} from '../support/token-attacks.ts';

/** Whether a header can carry the text and it reaches the token verifier. */
function isTokenInHeader(token: unknown): token is string {
  if (typeof token !== 'string' || token.length > 16_000) return false;
  return /^[\w.~+/-]+=*$/.test(token) && token.includes('.');
}

describe('an invalid token', () => {
  afterAll(() => console.log(`\nattack tokens: ${ATTACKS.length}, all refused alike`));

  it('differs from a valid one', async () => {
    expect(await VERIFIER.verify(GENUINE)).toMatchObject({ keyId: CLAIMS.sub, via: 'jwt' });
    await expectAccepted(VERIFIER, withClaims({}));
    await expectAccepted(VERIFIER, withHeader({}));
    await expectAccepted(VERIFIER, forge(RSA, {}, CLAIMS));
    await expectAccepted(VERIFIER, unaligned());
    await expectAccepted(VERIFIER, withClaims({ scope: '' }));
    // Valid tokens at the limits.
    await expectAccepted(VERIFIER, withClaims({ iat: NOW + 5, exp: NOW + 905 }));
    await expectAccepted(VERIFIER, withClaims({ jti: 'x'.repeat(128), scope: scopes(256) }));
    await expectAccepted(VERIFIER, withHeader({ kid: 'good' }));
    expect(new Set(ATTACKS.map(([name]) => name)).size).toBe(ATTACKS.length);
    expect(ATTACKS.length).toBeGreaterThanOrEqual(120);
  });

  it.each(ATTACKS)('%s', async (_name, token) => {
    const error = await thrown(() => VERIFIER.verify(token as string));
    if (!isAccessError(error)) throw error;
    expect([error.code, error.reason, error.keyId]).toEqual([
      'invalid_token',
      'token_refused',
      undefined,
    ]);
    const { body: text, ...response } = toResponse(error, { realm: 'acme' });
    expect(response).toEqual(TOKEN_REFUSAL);
    expect(text).toBe(toResponse(await thrown(() => VERIFIER.verify('.')), { realm: 'acme' }).body);
  });

  it('gets the same answer from a keyring, if a header can carry it', async () => {
    const keyring = createKeyring({
      prefix: 'acme',
      catalog,
      store: memoryStore(),
      peppers: 'none',
      tokens: VERIFIER,
    });
    for (const [name, token] of ATTACKS) {
      if (!isTokenInHeader(token)) continue;
      const error = await thrown(() => keyring.authenticate(`Bearer ${token}`));
      const { body: _body, ...response } = toResponse(error, { realm: 'acme' });
      expect(response, name).toEqual(TOKEN_REFUSAL);
    }
  });
});
