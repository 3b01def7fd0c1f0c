/** A key that manages keys. */
import { AccessError, definePolicy, type Principal } from 'keyscope';
import { authorityFrom, type KeyAdminOperation } from 'keyscope/admin';
import { testPrincipal } from 'keyscope/testing';
import { describe, expect, it } from 'vitest';
import { answered, BODY, get, post, setUpAdmin } from '../support/admin.ts';
import {
  AUTHORITY,
  catalog,
  denied,
  HOUR,
  OTHER,
  OWN,
  rejecting,
  START,
  setUp,
  THIRD,
  typeError,
} from '../support/keyring.ts';

const FIELDS = { catalog, scopes: ['threats:read'], entityUuid: OWN } as const;

describe('the authority of a key', () => {
  it('is what the key has, and no more', () => {
    const principal = testPrincipal({ ...FIELDS, accessibleEntities: [OTHER] });
    expect(authorityFrom(principal)).toEqual({
      entityUuid: OWN,
      entities: [OWN, OTHER],
      scopes: ['threats:read'],
      actor: `key:${principal.keyId}`,
      keyId: principal.keyId,
    });
  });

  it('ends with the key: what it issues lives no longer', async () => {
    const now = () => START;
    const principal = testPrincipal({ ...FIELDS, expiresAt: START + HOUR });
    expect(authorityFrom(principal, { now })).toMatchObject({ maxLifetimeMs: HOUR });
    for (const expiresAt of [START, START - 1]) {
      const over = testPrincipal({ ...FIELDS, expiresAt });
      await denied(
        rejecting(() => authorityFrom(over, { now })),
        'invalid_token',
        'expired',
      );
    }
    const real = testPrincipal({ ...FIELDS, expiresAt: Date.now() + HOUR });
    expect(authorityFrom(real).maxLifetimeMs).toBeGreaterThan(HOUR / 2);
    const broken = rejecting(() => authorityFrom(principal, { now: () => Number.NaN }));
    await expect(broken()).rejects.toMatchObject({ name: 'StoreError' });
  });

  it('is refused to a token', async () => {
    const principal = testPrincipal({ ...FIELDS, via: 'jwt' });
    const ask = rejecting(() => authorityFrom(principal));
    const error = await denied(ask, 'invalid_token', 'token_refused');
    expect(error).toBeInstanceOf(AccessError);
    expect(error.keyId).toBe(principal.keyId);
  });

  it('is refused to what nobody verified', async () => {
    const principal = testPrincipal(FIELDS);
    for (const value of [{ ...principal }, {}, null, 'x', { ...principal, scopes: ['*:*'] }]) {
      const ask = rejecting(() => authorityFrom(value as Principal));
      await typeError(ask, /principal: pass one that this copy of keyscope made/);
    }
    const typo = rejecting(() => authorityFrom(principal, { now: START } as never));
    await typeError(typo, /now: pass a function/);
    const unknown = rejecting(() => authorityFrom(principal, { scopes: 'all' } as never));
    await typeError(unknown, /unknown field/);
  });
});

describe('a service whose keys manage keys', () => {
  const policy = definePolicy(catalog, {
    listKeys: ['users:read'],
    getKey: ['users:read'],
    issueKey: ['users:write'],
    rotateKey: ['users:write'],
    suspendKey: ['users:write'],
    resumeKey: ['users:write'],
    revokeKey: ['users:write'],
    revokeKeyLineage: ['users:write'],
    withdrawFromKey: ['users:write'],
  });

  async function mount(scopes: readonly ['users:read', 'users:write'] | readonly ['users:read']) {
    const { keyring, events } = setUp();
    const input = {
      name: 'manager',
      scopes,
      expiresAt: 'never',
      justification: 'to test',
    } as const;
    const { key, info } = await keyring.issue(
      { ...input, accessibleEntities: [OTHER] },
      { ...AUTHORITY, entities: [OTHER] },
    );
    const authorityOf = async (request: Request, operation: KeyAdminOperation) => {
      const { principal } = await keyring.admit(request, { policy, operation });
      return authorityFrom(principal);
    };
    const { admin } = setUpAdmin({ keyring, authorityOf });
    return { admin, events, info, auth: { authorization: `Bearer ${key}` } };
  }

  it('lets a key issue what it has itself', async () => {
    const { admin, auth, info, events } = await mount(['users:read', 'users:write']);
    const input = { ...BODY, scopes: ['users:read'], justification: 'to read' };
    const made = await answered(admin(post('/keys', input, auth)), 201);
    const createdBy = `key:${info.keyId}`;
    expect(made.info).toMatchObject({ createdBy, entityUuid: OWN });
    expect(events.at(-1)).toMatchObject({ type: 'key.issued', actor: createdBy });
    await answered(admin(post('/keys', { ...input, accessibleEntities: [OTHER] }, auth)), 201);
    await answered(admin(post('/keys', BODY, auth)), 403);
    await answered(admin(post('/keys', { ...input, accessibleEntities: [THIRD] }, auth)), 403);
  });

  it('lets a key do what its scopes allow, and nobody else anything', async () => {
    const { admin, auth } = await mount(['users:read']);
    await answered(admin(get('/keys', auth)), 200);
    await answered(admin(post('/keys', BODY, auth)), 403);
    await answered(admin(get('/keys')), 401);
    await answered(admin(get('/keys', { authorization: 'Bearer x' })), 401);
  });
});
