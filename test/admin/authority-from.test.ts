/** The authority of a key that manages keys. */
import { AccessError, definePolicy, type Principal } from 'keyscope';
import { authorityFrom, type KeyAdminOperation } from 'keyscope/admin';
import { createTokenIssuer } from 'keyscope/jwt';
import { testPrincipal } from 'keyscope/testing';
import { describe, expect, it } from 'vitest';
import { answered, BODY, get, post, setUpAdmin } from '../support/admin.ts';
import { SIGNING, signingWith } from '../support/jwt.ts';
import {
  AUTHORITY,
  catalog,
  denied,
  HOUR,
  OTHER,
  OWN,
  type RingOptions,
  rejecting,
  START,
  setUp,
  THIRD,
  typeError,
} from '../support/keyring.ts';
import { GOOD, VERIFIER } from '../support/token-attacks.ts';

const FIELDS = { catalog, scopes: ['threats:read'], entityId: OWN } as const;

describe('authorityFrom', () => {
  it('returns the rights of the key and no others', () => {
    const principal = testPrincipal({ ...FIELDS, accessibleEntities: [OTHER] });
    expect(authorityFrom(principal)).toEqual({
      entityId: OWN,
      entities: [OWN, OTHER],
      scopes: ['threats:read'],
      actor: `key:${principal.keyId}`,
      keyId: principal.keyId,
    });
  });

  it('lets new keys live no longer than the key, and sets no limit for one without an end', () => {
    for (const expiresAt of [START + HOUR, START, 0]) {
      const principal = testPrincipal({ ...FIELDS, expiresAt });
      expect(authorityFrom(principal)).toMatchObject({ notAfter: new Date(expiresAt) });
    }
    expect(authorityFrom(testPrincipal(FIELDS))).not.toHaveProperty('notAfter');
  });

  it('lets new keys of a keyless caller live no longer than the token', () => {
    const principal = testPrincipal({ ...FIELDS, via: 'keyless', expiresAt: START });
    expect(authorityFrom(principal)).toMatchObject({ notAfter: new Date(START) });
  });

  it('refuses a token', async () => {
    const principal = testPrincipal({ ...FIELDS, via: 'jwt', expiresAt: START + HOUR });
    const ask = rejecting(() => authorityFrom(principal));
    const error = await denied(ask, 'invalid_token', 'token_refused');
    expect(error).toBeInstanceOf(AccessError);
    expect(error.keyId).toBe(principal.keyId);
  });

  it('refuses an object that is not a verified principal', async () => {
    const principal = testPrincipal(FIELDS);
    for (const value of [{ ...principal }, {}, null, 'x', { ...principal, scopes: ['*:*'] }]) {
      const ask = rejecting(() => authorityFrom(value as Principal));
      await typeError(ask, /principal: pass one that this copy of keyscope made/);
    }
  });
});

describe('a service whose keys manage keys', () => {
  const policy = definePolicy(catalog, {
    listKeys: ['users:read'],
    getKey: ['users:read'],
    issueKey: ['users:write'],
    issueKeylessKey: ['users:write'],
    rotateKey: ['users:write'],
    suspendKey: ['users:write'],
    resumeKey: ['users:write'],
    revokeKey: ['users:write'],
    revokeKeyLineage: ['users:write'],
    withdrawFromKey: ['users:write'],
  });

  async function mount(
    scopes: readonly ['users:read', 'users:write'] | readonly ['users:read'],
    options: Omit<RingOptions, 'policy'> = {},
  ) {
    const { keyring, events } = setUp({ policy, tokens: VERIFIER, ...options });
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
      const { principal } = await keyring.admit(request, { operation });
      return authorityFrom(principal);
    };
    const { admin } = setUpAdmin({ keyring, authorityOf });
    return { admin, keyring, events, info, auth: { authorization: `Bearer ${key}` } };
  }

  it('lets a key issue keys with its own rights', async () => {
    const { admin, auth, info, events } = await mount(['users:read', 'users:write']);
    const input = { ...BODY, scopes: ['users:read'], justification: 'to read' };
    const made = await answered(admin(post('/keys', input, auth)), 201);
    const createdBy = `key:${info.keyId}`;
    expect(made.info).toMatchObject({ createdBy, entityId: OWN });
    expect(events.at(-1)).toMatchObject({ type: 'key.issued', actor: createdBy });
    await answered(admin(post('/keys', { ...input, accessibleEntities: [OTHER] }, auth)), 201);
    await answered(admin(post('/keys', BODY, auth)), 403);
    await answered(admin(post('/keys', { ...input, accessibleEntities: [THIRD] }, auth)), 403);
  });

  // The only test of this once used a token that never expires, which no issuer makes.
  it.each([
    ['looked up with its key', {}],
    ['on its own', { checkParent: false }],
  ])('does not let a token do what its key may do, %s', async (_how, options) => {
    const { admin, keyring, auth, info, events } = await mount(
      ['users:read', 'users:write'],
      options,
    );
    const issuer = createTokenIssuer({ ...SIGNING, ...signingWith(GOOD) });
    const { accessToken, expiresIn } = await issuer.exchange(await keyring.authenticate(auth));
    expect(expiresIn).toBeLessThanOrEqual(900);
    const token = { authorization: `Bearer ${accessToken}` };
    const caller = await keyring.authenticate(token);
    expect(caller).toMatchObject({ via: 'jwt', keyId: info.keyId, scopes: info.scopes });
    expect(caller.expiresAt).toBe(START + expiresIn * 1000);

    const path = `/keys/${info.keyId}`;
    const input = { ...BODY, scopes: ['users:read'], justification: 'to read' };
    const requests = [
      post('/keys', input, token),
      post('/keys', { ...input, expiresAt: new Date(START + 60_000).toISOString() }, token),
      post(`${path}/rotate`, { overlapMs: 0 }, token),
      ...['suspend', 'resume', 'revoke', 'revoke-lineage', 'withdraw'].map((action) =>
        post(`${path}/${action}`, {}, token),
      ),
      get('/keys', token),
      get(path, token),
    ];
    events.length = 0;
    for (const request of requests) {
      const response = await admin(request);
      const challenge = response.headers.get('www-authenticate');
      expect(challenge).toBe('Bearer realm="keys", error="invalid_token"');
      await answered(Promise.resolve(response), 401);
    }
    // The operation is in the policy, so `admit` accepted the token. Nothing was done.
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['access.granted']));
    const { keys } = await answered(admin(get('/keys', auth)), 200);
    expect(keys).toMatchObject([{ keyId: info.keyId, state: 'live' }]);
    // The key may do this, so the refusals are because of the token.
    await answered(admin(post('/keys', input, auth)), 201);
    await answered(admin(post(`${path}/rotate`, { overlapMs: 0 }, auth)), 201);
  });

  it('lets a key do what its scopes allow, and refuses everyone else', async () => {
    const { admin, auth } = await mount(['users:read']);
    await answered(admin(get('/keys', auth)), 200);
    await answered(admin(post('/keys', BODY, auth)), 403);
    await answered(admin(get('/keys')), 401);
    await answered(admin(get('/keys', { authorization: 'Bearer x' })), 401);
  });
});
