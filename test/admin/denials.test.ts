/** The details of refusals: what is allowed, how to sign in, and nothing from the input. */
import { AccessError, generateKey } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { answered, BODY, get, issueBy, malformed, post, setUpAdmin } from '../support/admin.ts';
import { OTHER } from '../support/keyring.ts';
import { uuid } from '../support/vectors.ts';

const KEY = generateKey({ prefix: 'acme' });

describe('the answer to malformed input', () => {
  // All of these once got the same detail: a field is missing, malformed or not known.
  it.each<[object, string, RegExp]>([
    [{ name: '' }, 'name', /^name: 1 to 100 characters/],
    [{ name: KEY }, 'name', /^name: no API key; write its id or hint$/],
    [{ scopes: 'threats:read' }, 'scopes', /^scopes: a list of texts$/],
    [{ scopes: ['Threats:Read'] }, 'scopes', /^a scope resource:action in lower case/],
    [{ scopes: ['threats:raed'] }, 'scopes', /^scopes: name scopes that this service has;/],
    [{ scopes: ['users:*'] }, 'scopes', /no wildcard grants a reserved one$/],
    [{ scopes: ['users:read'] }, 'justification', /^justification: say why/],
    [{ scopes: ['users:read'], justification: KEY }, 'justification', /no API key$/],
    [{ expiresAt: '2030-01-01' }, 'expiresAt', /^expiresAt: an ISO 8601 date-time/],
    [{ expiresAt: '2001-01-01T00:00:00Z' }, 'expiresAt', /^expiresAt: a time in the future$/],
    [{ accessibleEntities: ['x y'] }, 'accessibleEntities', /^1 to 64 letters/],
    [{ accessibleEntities: [OTHER.toUpperCase()] }, 'accessibleEntities', /UUIDs in lower case/],
    [
      { accessibleEntities: Array.from({ length: 1000 }, (_, index) => uuid(index)) },
      'accessibleEntities',
      /^accessibleEntities: at most 1000 with your own;/,
    ],
    [{ metadata: { a: 1 } }, 'metadata', /^metadata: at most 16 pairs/],
    [{ [KEY]: 1 }, 'input', /^unknown field; known fields are name, scopes, expiresAt,/],
  ])('says what is allowed: %#', async (over, field, rule) => {
    const { admin } = setUpAdmin();
    const detail = await malformed(admin(post('/keys', { ...BODY, ...over })), field);
    expect(detail).toMatch(rule);
    expect(detail).not.toContain(KEY.slice(5, 20));
  });

  it('says which reasons and which keys are allowed', async () => {
    const { admin } = setUpAdmin();
    const path = `/keys/${await issueBy(admin)}`;
    const reason = await malformed(admin(post(`${path}/revoke`, { reason: KEY })), 'reason');
    expect(reason).toMatch(/^reason: .*no API key$/);
    const keyId = await malformed(admin(post(`${path}/withdraw`)), 'keyId');
    expect(keyId).toMatch(/^keyId: the id of a key, not the key; .* your own, revoke it$/);
    expect(await malformed(admin(post('/keys', '{')), 'input')).toBe('send a JSON object');
  });
});

describe('the answer without an authenticated caller', () => {
  const deny = (code: 'missing_credentials' | 'invalid_token') => () => {
    throw new AccessError(code, 'no_header');
  };

  // The answer once told a page to send a key as a bearer credential, which a person does not have.
  it.each([
    ['missing_credentials', { cookie: 'sid=1' }, 'Cookie realm="keys"'],
    ['missing_credentials', { 'sec-fetch-site': 'same-origin' }, 'Cookie realm="keys"'],
    ['invalid_token', { cookie: 'sid=1' }, 'Cookie realm="keys", error="invalid_token"'],
  ] as const)('asks a page to sign in: %s with %j', async (code, headers, challenge) => {
    const { admin } = setUpAdmin({ authorityOf: deny(code) });
    for (const request of [get('/keys', headers), post('/keys', BODY, headers)]) {
      const response = await admin(request);
      expect(response.headers.get('www-authenticate')).toBe(challenge);
      const { detail } = await answered(Promise.resolve(response), 401);
      expect(detail).toBe('Sign in.');
    }
  });

  it.each([{}, { authorization: 'Bearer x', cookie: 'sid=1' }])(
    'asks a program for a key: %j',
    async (headers) => {
      const { admin } = setUpAdmin({ authorityOf: deny('missing_credentials') });
      const response = await admin(get('/keys', headers));
      expect(response.headers.get('www-authenticate')).toBe('Bearer realm="keys"');
      const { detail } = await answered(Promise.resolve(response), 401);
      expect(detail).toContain('Authorization: Bearer');
    },
  );

  it('does not ask to sign in if the caller is known, or if nothing can be checked', async () => {
    const forbid = () => Promise.reject(new AccessError('insufficient_scope', 'scope_missing'));
    const { admin } = setUpAdmin({ authorityOf: forbid });
    // The answer to a person once spoke of the scopes of a key.
    const { detail } = await answered(admin(get('/keys', { cookie: 'sid=1' })), 403);
    expect(detail).toBe('Your role does not allow this.');
    const ofKey = await answered(admin(get('/keys', { authorization: 'Bearer x' })), 403);
    expect(ofKey.detail).toBe('The key was not granted a scope that this operation requires.');
    const broken = setUpAdmin({ authorityOf: () => Promise.reject(new Error('down')) }).admin;
    const bug = await answered(broken(get('/keys', { cookie: 'sid=1' })), 500);
    expect(bug.detail).toBe('Something went wrong.');
  });
});
