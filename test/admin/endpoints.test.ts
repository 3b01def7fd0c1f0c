/** The endpoint for keys without a secret, and what it takes from no other. */
import type { KeyStore } from 'keyscope';
import { createKeylessVerifier } from 'keyscope/keyless';
import { keyInfoSchema } from 'keyscope/schemas';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  ACTOR,
  answered,
  BODY,
  GRANT,
  get,
  issueBy,
  malformed,
  post,
  STORES,
  setUpAdmin,
} from '../support/admin.ts';
import { forge } from '../support/jwt.ts';
import { AUDIENCE, CI, ENTRY, JOB, TRUST } from '../support/keyless.ts';
import { HOUR, OTHER, OWN, START } from '../support/keyring.ts';

const KEYLESS = { ...BODY, trust: TRUST };

function setUpKeyless(store: KeyStore = memoryStore(), options = {}) {
  const tokens = createKeylessVerifier({ audience: AUDIENCE, issuers: [ENTRY], now: () => START });
  return setUpAdmin(options, store, tokens);
}

describe.each(STORES)('POST /keys/keyless over %s', (_name, createStore) => {
  it('creates a key as which the job may act, and shows no secret', async () => {
    const { admin, keyring, events } = setUpKeyless(createStore());
    const response = await admin(post('/keys/keyless', KEYLESS));
    const location = response.headers.get('location');
    const body = await answered(Promise.resolve(response), 201);
    expect(Object.keys(body)).toEqual(['info']);
    const info = keyInfoSchema.parse(body.info);
    expect(info).toMatchObject({ ...KEYLESS, expiresAt: null, hint: '', entityId: OWN });
    expect(location).toBe(`/keys/${info.keyId}`);
    expect(events).toMatchObject([{ type: 'key.issued', keyId: info.keyId, actor: ACTOR }]);
    const token = forge(CI, { typ: 'JWT' }, { ...JOB, aud: `${AUDIENCE}#${info.keyId}` });
    expect(await keyring.authenticate(`Bearer ${token}`)).toMatchObject({ via: 'keyless' });
  });

  it('makes a key that the other endpoints show and end, but not rotate', async () => {
    const { admin } = setUpKeyless(createStore());
    const { info } = await answered(admin(post('/keys/keyless', KEYLESS)), 201);
    const { keyId } = keyInfoSchema.parse(info);
    const path = `/keys/${keyId}`;
    expect(await answered(admin(get(path)), 200)).toEqual(info);
    expect((await answered(admin(get('/keys')), 200)).keys).toEqual([info]);
    const rotated = await answered(admin(post(`${path}/rotate`, { overlapMs: HOUR })), 409);
    expect(rotated).toMatchObject({ error: 'conflict' });
    await answered(admin(post(`${path}/suspend`)), 204);
    await answered(admin(post(`${path}/resume`)), 204);
    await answered(admin(post(`${path}/revoke`)), 204);
    expect(await answered(admin(get(path)), 200)).toMatchObject({ state: 'revoked', trust: TRUST });
  });
});

describe('POST /keys/keyless', () => {
  it('asks authorityOf for an operation of its own', async () => {
    const asked: string[] = [];
    const authorityOf = (_request: Request, operation: string) => {
      asked.push(operation);
      return operation === 'issueKeylessKey' ? ('forbidden' as const) : GRANT;
    };
    const { admin, events } = setUpKeyless(memoryStore(), { authorityOf });
    await answered(admin(post('/keys/keyless', KEYLESS)), 403);
    await issueBy(admin);
    expect(asked).toEqual(['issueKeylessKey', 'issueKey']);
    expect(events).toHaveLength(1);
  });

  it('grants no more than the authority has', async () => {
    const authorityOf = () => ({ ...GRANT, scopes: ['threats:read'] });
    const { admin } = setUpKeyless(memoryStore(), { authorityOf });
    for (const over of [{ scopes: ['threats:write'] }, { accessibleEntities: [OTHER] }]) {
      const answer = await answered(admin(post('/keys/keyless', { ...KEYLESS, ...over })), 403);
      expect(answer).toMatchObject({ error: 'ceiling_exceeded' });
    }
  });

  it.each<[string, unknown]>([
    ['no trust', undefined],
    ['a trust with another field', { ...TRUST, subject: 'a' }],
    ['a claim about the token', { ...TRUST, claims: { aud: 'a' } }],
    ['an issuer that no verifier lists', { ...TRUST, issuer: 'https://evil.example' }],
    ['no claim that identifies anyone', { ...TRUST, claims: { ref: 'refs/heads/main' } }],
  ])('refuses %s, says what is allowed, and quotes nothing', async (_what, trust) => {
    const { admin, events, errors } = setUpKeyless();
    const detail = await malformed(admin(post('/keys/keyless', { ...KEYLESS, trust })), 'trust');
    expect(detail).not.toMatch(/evil|refs|subject|createKeyring/);
    expect(events.map(({ type }) => type)).not.toContain('key.issued');
    expect(errors).toEqual([]);
  });

  it('is the only request with a trust', async () => {
    const { admin, keyring, events } = setUpKeyless();
    await malformed(admin(post('/keys', KEYLESS)), 'input');
    expect(events).toEqual([]);
    const keyId = await issueBy(admin);
    const rotation = { overlapMs: HOUR, trust: TRUST };
    await malformed(admin(post(`/keys/${keyId}/rotate`, rotation)), 'input');
    const { keys } = await keyring.list({}, GRANT);
    expect(keys).toMatchObject([{ trust: null }]);
  });

  it('is a 500 on a keyring without tokens, and onError gets what to pass', async () => {
    const { admin, errors } = setUpAdmin();
    const { detail } = await answered(admin(post('/keys/keyless', KEYLESS)), 500);
    expect(detail).not.toMatch(/tokens/);
    expect(errors.map(String)).toEqual([
      'TypeError: issueKeyless: pass createKeyring `tokens` and a pepper',
    ]);
  });

  it('has a path that is not taken for a key id', async () => {
    const { admin } = setUpKeyless();
    const response = await admin(get('/keys/keyless'));
    expect(response.headers.get('allow')).toBe('POST, OPTIONS');
    await answered(Promise.resolve(response), 405);
    await answered(admin(post('/keys/keyless/revoke')), 404);
    await answered(admin(post('/keys/keyless/', KEYLESS)), 404);
  });
});
