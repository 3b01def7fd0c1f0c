/** The whole life of keys whose entities have ids that are not UUIDs. */
import { isAccessError, type KeyringEvent, toMe } from 'keyscope';
import { createTokenIssuer, createTokenVerifier } from 'keyscope/jwt';
import { addressedKeySchema, keyInfoSchema, meSchema } from 'keyscope/schemas';
import { describe, expect, it } from 'vitest';
import { HOSTILE_IDS } from '../support/entity-ids.ts';
import { FIRST, SIGNING } from '../support/jwt.ts';
import { bearer, catalog, denied, PLAIN, START, setUp } from '../support/keyring.ts';

const VERIFYING = {
  issuer: SIGNING.issuer,
  audience: SIGNING.audience,
  jwks: { keys: [FIRST.publicKey] },
  algorithms: ['ES256'],
  catalog,
  now: () => START,
} as const;

const OVERLAP = { overlapMs: 1000 };

/** An id, and one that comes after it in the list. */
const PAIRS = HOSTILE_IDS.map((id, index): [string, string] => {
  return [id, HOSTILE_IDS[(index + 1) % HOSTILE_IDS.length] ?? ''];
});

describe('an entity whose id is not a UUID', () => {
  it.each(PAIRS)('has keys that work like any other: %j, with %j', async (own, guest) => {
    const tokens = createTokenVerifier({ ...VERIFYING, entityIds: 'text' });
    const { keyring, events } = setUp({ entityIds: 'text', tokens });
    const authority = { entityId: own, entities: [guest], scopes: ['*:*'] };
    const { key, info } = await keyring.issue({ ...PLAIN, accessibleEntities: [guest] }, authority);
    expect(keyInfoSchema.parse(JSON.parse(JSON.stringify(info)))).toMatchObject({ entityId: own });

    const principal = await keyring.verify(key);
    expect(meSchema.parse(toMe(principal))).toMatchObject({
      entity_uuid: own,
      accessible_entities: [own, guest],
    });
    const asked = { operation: 'list', entityId: [guest] } as const;
    expect((await keyring.admit(bearer(key), asked)).entityId).toBe(guest);
    const { accessToken: token } = await createTokenIssuer(SIGNING).exchange(principal, {
      accessibleEntities: [guest],
    });
    expect((await keyring.admit(bearer(token), asked)).entityId).toBe(guest);

    const mine = await keyring.list({}, { entityId: own });
    expect(mine.keys).toMatchObject([{ keyId: info.keyId }]);
    const theirs = await keyring.list({ addressing: true }, { entityId: guest });
    expect(theirs.keys).toMatchObject([{ keyId: info.keyId, accessibleEntities: [guest] }]);
    addressedKeySchema.parse(JSON.parse(JSON.stringify(theirs.keys[0])));
    const next = await keyring.rotate(info.keyId, OVERLAP, authority);
    await keyring.withdraw(next.info.keyId, { entityId: guest });
    await denied(
      () => keyring.admit(bearer(next.key), asked),
      'entity_forbidden',
      'entity_not_accessible',
    );
    expect(await keyring.revokeLineage(info.keyId, { entityId: own })).toHaveLength(2);
    const named = events.map((event: KeyringEvent) => event.entityId);
    expect(new Set(named)).toEqual(new Set([own, guest]));
  });

  it('is another entity if a character differs', async () => {
    const { keyring } = setUp({ entityIds: 'text' });
    const { key, info } = await keyring.issue(PLAIN, { entityId: 'org_2abc', scopes: 'all' });
    for (const entityId of ['ORG_2ABC', 'org_2abC', 'org_2ab', 'org_2abcd', 'org-2abc']) {
      const asked = { operation: 'list', entityId } as const;
      await denied(
        () => keyring.admit(bearer(key), asked),
        'entity_forbidden',
        'entity_not_accessible',
      );
      await denied(() => keyring.revoke(info.keyId, { entityId }), 'not_found', 'foreign_key');
      expect((await keyring.list({}, { entityId })).keys).toEqual([]);
    }
  });

  it.each(['', 'org 2', 'org/2', '..', 'org_2abc,a', ['a', 'b']])(
    'is not named by %j, which is malformed',
    async (entityId) => {
      const { keyring } = setUp({ entityIds: 'text' });
      const { key } = await keyring.issue(PLAIN, { entityId: 'a', scopes: 'all' });
      const asked = { operation: 'list', entityId } as const;
      const reason = Array.isArray(entityId) ? 'repeated_entity' : 'malformed_entity';
      const act = () => keyring.admit(bearer(key), asked);
      const { message } = await denied(act, 'invalid_request', reason);
      expect(message).toBe(
        'Name one entity, by its id: 1 to 64 letters, digits and . _ ~ : @ | -.',
      );
    },
  );

  it('authenticates where a process has UUIDs still, but nobody can name it there', async () => {
    const { keyring, store } = setUp({ entityIds: 'text' });
    const { key } = await keyring.issue(PLAIN, { entityId: 'org_2abc', scopes: 'all' });
    const { keyring: older } = setUp({ store });
    const asked = { operation: 'list' } as const;
    expect((await older.admit(bearer(key), asked)).entityId).toBe('org_2abc');
    expect((await older.admit(bearer(key), { ...asked, entityId: 'org_2abc' })).entityId).toBe(
      'org_2abc',
    );
    const act = () => older.admit(bearer(key), { ...asked, entityId: 'org_2abd' });
    await denied(act, 'invalid_request', 'malformed_entity');
  });

  it('has no tokens where the verifier has UUIDs', async () => {
    const { keyring } = setUp({ entityIds: 'text' });
    const { key } = await keyring.issue(PLAIN, { entityId: 'org_2abc', scopes: 'all' });
    const exchanged = await createTokenIssuer(SIGNING).exchange(await keyring.verify(key));
    const verify = (entityIds: 'uuid' | 'text') =>
      createTokenVerifier({ ...VERIFYING, entityIds }).verify(exchanged.accessToken);
    expect((await verify('text')).entityId).toBe('org_2abc');
    const error = await verify('uuid').catch((reason: unknown) => reason);
    expect(isAccessError(error) && error.reason).toBe('token_refused');
  });
});
