/** Tokens at a keyring, which looks up the key that a token was exchanged for. */
import type { JWTPayload } from 'jose';
import { isAccessError, toResponse } from 'keyscope';
import { createTokenIssuer } from 'keyscope/jwt';
import { describe, expect, it } from 'vitest';
import { CLAIMS, jwt, principal, SIGNING, signingWith, TOKEN_REFUSAL } from '../support/jwt.ts';
import {
  AUTHORITY,
  denied,
  HOUR,
  OWN,
  PEPPER,
  PLAIN,
  START,
  setUp,
  THIRD,
  thrown,
} from '../support/keyring.ts';
import { GOOD, VERIFIER } from '../support/token-attacks.ts';

describe('a token whose key would not authenticate', () => {
  const issuer = createTokenIssuer({ ...SIGNING, ...signingWith(GOOD) });

  /** A keyring with a key, and a token for it. */
  async function exchanged(options: { expiresAt?: Date } = {}) {
    const setting = setUp({ tokens: VERIFIER, peppers: [PEPPER] });
    const { key, info } = await setting.keyring.issue({ ...PLAIN, ...options }, AUTHORITY);
    const { accessToken } = await issuer.exchange(await setting.keyring.verify(key));
    return { ...setting, key, info, token: accessToken };
  }

  it('ends with it: revoked, retired, expired, unknown', async () => {
    const revoked = await exchanged();
    expect((await revoked.keyring.authenticate(`Bearer ${revoked.token}`)).via).toBe('jwt');
    await revoked.keyring.revoke(revoked.info.keyId, AUTHORITY);
    const retired = await exchanged();
    await retired.keyring.rotate(retired.info.keyId, { overlapMs: 0 }, AUTHORITY);
    const expired = await exchanged({ expiresAt: new Date(START + 5_000) });
    expired.clock.advance(HOUR);
    const unknown = setUp({ tokens: VERIFIER });
    for (const { keyring, token } of [
      revoked,
      retired,
      expired,
      { keyring: unknown.keyring, token: revoked.token },
    ]) {
      const error = await thrown(() => keyring.authenticate(`Bearer ${token}`));
      const { body: _body, ...response } = toResponse(error, { realm: 'acme' });
      expect(response).toEqual(TOKEN_REFUSAL);
    }
  });

  it('carries no more than the key, whatever it claims', async () => {
    const { keyring, info } = await exchanged();
    const wide: JWTPayload = {
      ...CLAIMS,
      sub: info.keyId,
      client_id: info.keyId,
      scope: 'threats:read users:delete',
      accessible_entities: [OWN, THIRD],
    };
    const admitted = await keyring.authenticate(`Bearer ${await jwt(GOOD, wide)}`);
    expect(admitted).toMatchObject({ scopes: ['threats:read'], accessibleEntities: [OWN] });
    // A token that claims another entity for its own has no such key.
    const moved = { ...wide, entity_uuid: THIRD, accessible_entities: [THIRD, OWN] };
    const token = await jwt(GOOD, moved);
    expect(isAccessError(await thrown(() => keyring.authenticate(`Bearer ${token}`)))).toBe(true);
  });

  // A slow look-up let a token in that had expired meanwhile.
  it('has expired if that happened while its key was looked up', async () => {
    const setting = await exchanged();
    const { store, clock, token } = setting;
    const slow = {
      ...store,
      findById: (keyId: string) => {
        clock.set(Number(CLAIMS.exp) * 1000);
        return store.findById(keyId);
      },
    };
    const late = setUp({
      store: slow,
      tokens: { verify: () => VERIFIER.verify(token) },
      now: clock.now,
    });
    await denied(() => late.keyring.authenticate(`Bearer ${token}`), 'invalid_token', 'expired');
  });

  it('is not exchanged again', async () => {
    const { keyring, token } = await exchanged();
    const narrowed = await keyring.authenticate(`Bearer ${token}`);
    await expect(issuer.exchange(narrowed)).rejects.toMatchObject({ code: 'invalid_request' });
    expect((await issuer.exchange(principal)).tokenType).toBe('Bearer');
  });
});
