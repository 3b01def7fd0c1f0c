/** Tokens at a keyring, which looks up the key behind a token. */
import type { JWTPayload } from 'jose';
import type { DenialReason, KeyRecord } from 'keyscope';
import { isAccessError, toResponse } from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import { createTokenIssuer } from 'keyscope/jwt';
import { describe, expect, it } from 'vitest';
import { lru, MAX_MS } from '../support/cache.ts';
import { CLAIMS, jwt, principal, SIGNING, signingWith, TOKEN_REFUSAL } from '../support/jwt.ts';
import {
  AUTHORITY,
  denied,
  HOUR,
  OTHER,
  OWN,
  PEPPER,
  PEPPER_2,
  PLAIN,
  type Ring,
  START,
  setUp,
  THIRD,
  tampering,
  thrown,
} from '../support/keyring.ts';
import { GOOD, VERIFIER } from '../support/token-attacks.ts';

const FOR_TWO = { ...AUTHORITY, entities: [OTHER] } as const;

describe('a token at a keyring', () => {
  const issuer = createTokenIssuer({ ...SIGNING, ...signingWith(GOOD) });

  /** Makes a keyring with a key for two entities and a token for it. */
  async function exchanged(options: { expiresAt?: Date } = {}) {
    const setting = setUp({ tokens: VERIFIER, peppers: [PEPPER] });
    const { keyring } = setting;
    const input = { ...PLAIN, ...options, accessibleEntities: [OTHER] };
    const { key, info } = await keyring.issue(input, FOR_TWO);
    const caller = await keyring.authenticate(`Bearer ${key}`, { fresh: true });
    const { accessToken } = await issuer.exchange(caller);
    return { ...setting, key, info, token: accessToken };
  }

  type Exchanged = Awaited<ReturnType<typeof exchanged>>;

  /** Makes another keyring over the same rows, changed by `edit`. */
  function over({ store, clock }: Exchanged, edit: (row: KeyRecord) => object, prefix = 'acme') {
    const edited = tampering(store, edit);
    return setUp({ store: edited, tokens: VERIFIER, now: clock.now, prefix }).keyring;
  }

  const ENDS: readonly (readonly [DenialReason, (setting: Exchanged) => Promise<Ring>])[] = [
    [
      'revoked',
      async ({ keyring, info }) => {
        await keyring.revoke(info.keyId, AUTHORITY);
        return keyring;
      },
    ],
    [
      'suspended',
      async ({ keyring, info }) => {
        await keyring.suspend(info.keyId, AUTHORITY);
        return keyring;
      },
    ],
    [
      'retired',
      async ({ keyring, info }) => {
        await keyring.rotate(info.keyId, { overlapMs: 0 }, FOR_TWO);
        return keyring;
      },
    ],
    [
      'expired',
      async ({ keyring, clock }) => {
        clock.advance(HOUR);
        return keyring;
      },
    ],
    ['unknown_format', async (setting) => over(setting, (row) => ({ ...row, format: 2 }))],
    ['record_tampered', async (setting) => over(setting, (row) => ({ ...row, name: 'x' }))],
    ['unknown_key', async () => setUp({ tokens: VERIFIER }).keyring],
    // A keyring with another prefix shares the store.
    ['unknown_key', async (setting) => over(setting, (row) => row, 'other')],
    [
      'orphaned',
      async ({ store, clock }) =>
        setUp({ store, tokens: VERIFIER, now: clock.now, peppers: [PEPPER_2] }).keyring,
    ],
  ];

  it.each(ENDS)(
    'is denied on its next use for the same reason as its key: %s',
    async (reason, end) => {
      const setting = await exchanged({ expiresAt: new Date(START + 5_000) });
      const { token } = setting;
      expect((await setting.keyring.authenticate(`Bearer ${token}`)).via).toBe('jwt');
      const keyring = await end(setting);
      const act = () => keyring.authenticate(`Bearer ${token}`);
      const error = await denied(act, 'invalid_token', reason);
      const { body: _body, ...response } = toResponse(error, { realm: 'acme' });
      expect(response).toEqual(TOKEN_REFUSAL);
    },
  );

  it('works again after its key is resumed', async () => {
    const { keyring, info, token } = await exchanged();
    await keyring.suspend(info.keyId, AUTHORITY);
    await denied(() => keyring.authenticate(`Bearer ${token}`), 'invalid_token', 'suspended');
    await keyring.resume(info.keyId, AUTHORITY);
    expect((await keyring.authenticate(`Bearer ${token}`)).via).toBe('jwt');
  });

  it('cannot address an entity that has withdrawn from its key', async () => {
    const { keyring, info, token } = await exchanged();
    const reach = async () => (await keyring.authenticate(`Bearer ${token}`)).accessibleEntities;
    expect(await reach()).toEqual([OWN, OTHER]);
    await keyring.withdraw(info.keyId, { entityId: OTHER });
    expect(await reach()).toEqual([OWN]);
    const list = { operation: 'list', entityId: OTHER } as const;
    const act = () => keyring.admit(`Bearer ${token}`, list);
    await denied(act, 'entity_forbidden', 'entity_not_accessible');
  });

  // A token for a cached principal would outlive the staleness limit of the cache.
  it('is not issued for a key that has ended elsewhere, if the principal is fresh', async () => {
    const { key, info, store, clock, keyring } = await exchanged();
    const cached = cacheStore(store, { cache: lru(), maxStalenessMs: MAX_MS, now: clock.now });
    const front = setUp({ store: cached, now: clock.now }).keyring;
    const request = `Bearer ${key}`;
    await front.authenticate(request);
    await keyring.suspend(info.keyId, AUTHORITY);
    // Within the staleness limit of the cache, a request may still pass.
    await front.authenticate(request);
    const act = () => front.authenticate(request, { fresh: true });
    await denied(act, 'invalid_token', 'suspended');
  });

  it('never has more rights than its key, whatever it claims', async () => {
    const { keyring, info } = await exchanged();
    const entities = [OWN, OTHER, THIRD];
    const wide: JWTPayload = {
      ...CLAIMS,
      sub: info.keyId,
      client_id: info.keyId,
      scope: 'threats:read users:delete',
      accessible_entities: entities,
    };
    const admitted = await keyring.authenticate(`Bearer ${await jwt(GOOD, wide)}`);
    expect(admitted).toMatchObject({ scopes: ['threats:read'], accessibleEntities: [OWN, OTHER] });
    // A token that claims another owner has no matching key.
    const moved = { ...wide, entity_uuid: THIRD, accessible_entities: [THIRD, OWN] };
    const token = await jwt(GOOD, moved);
    expect(isAccessError(await thrown(() => keyring.authenticate(`Bearer ${token}`)))).toBe(true);
  });

  // Regression: a token that expired during a slow look-up was accepted.
  it('is denied if it expires during the look-up of its key', async () => {
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

  it('cannot be exchanged again', async () => {
    const { keyring, token } = await exchanged();
    const narrowed = await keyring.authenticate(`Bearer ${token}`);
    await expect(issuer.exchange(narrowed)).rejects.toMatchObject({ code: 'invalid_request' });
    expect((await issuer.exchange(principal)).tokenType).toBe('Bearer');
  });
});
