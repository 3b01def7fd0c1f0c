/** The answers of authorityOf: which ones the endpoints accept, and how they treat all others. */
import { AccessError, InputError, StoreError } from 'keyscope';
import type { AuthorityReader } from 'keyscope/admin';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { answered, BODY, GRANT, get, malformed, post, setUpAdmin } from '../support/admin.ts';
import { NOWHERE, OTHER, OWN, recording, untyped } from '../support/keyring.ts';

const ALL = [
  ['listKeys', () => get('/keys')],
  ['issueKey', () => post('/keys', BODY)],
  ['getKey', () => get(`/keys/${NOWHERE}`)],
  ['rotateKey', () => post(`/keys/${NOWHERE}/rotate`, { overlapMs: 0 })],
  ['suspendKey', () => post(`/keys/${NOWHERE}/suspend`)],
  ['resumeKey', () => post(`/keys/${NOWHERE}/resume`)],
  ['revokeKey', () => post(`/keys/${NOWHERE}/revoke`)],
  ['revokeKeyLineage', () => post(`/keys/${NOWHERE}/revoke-lineage`)],
  ['withdrawFromKey', () => post(`/keys/${NOWHERE}/withdraw`)],
] as const;

const NOT_ALLOWED = 'Your role does not allow this.';

/** Endpoints with this authorityOf, and a record of what they did. */
function saying(authorityOf: unknown, options: { readonly authorityTimeoutMs?: number } = {}) {
  const { store, calls } = recording(memoryStore());
  const set = setUpAdmin({ authorityOf: untyped<AuthorityReader>(authorityOf), ...options }, store);
  return { ...set, calls };
}

/** Asserts that every endpoint answers so without calling the keyring. */
async function always(
  set: ReturnType<typeof saying>,
  check: (answer: Promise<Response>) => Promise<unknown>,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  for (const [, request] of ALL) {
    const sent = request();
    for (const [name, value] of Object.entries(headers)) sent.headers.set(name, value);
    await check(set.admin(sent));
    expect(sent.bodyUsed).toBe(false);
  }
  expect({ calls: set.calls, events: set.events }).toEqual({ calls: [], events: [] });
}

describe('authorityOf', () => {
  it('is called for each request, with its operation', async () => {
    const asked: unknown[] = [];
    const { admin } = setUpAdmin({
      authorityOf: (request, operation) => {
        asked.push([request.headers.get('x-user'), operation]);
        return Promise.resolve(GRANT);
      },
    });
    for (const [operation, request] of ALL) {
      const sent = request();
      sent.headers.set('x-user', operation);
      await admin(sent);
    }
    expect(asked).toEqual(ALL.map(([operation]) => [operation, operation]));
  });

  it('denies by throwing, with the answers of keyscope', async () => {
    const deny = () => {
      throw new AccessError('missing_credentials', 'no_header');
    };
    await always(saying(deny), async (answer) => {
      const response = await answer;
      expect(response.headers.get('www-authenticate')).toBe('Bearer realm="keys"');
      await answered(Promise.resolve(response), 401);
    });
    const forbid = () => Promise.reject(new AccessError('insufficient_scope', 'scope_missing'));
    const set = saying(forbid);
    await always(set, (answer) => answered(answer, 403));
    expect(set.errors).toEqual([]);
  });

  // A service with sessions had to throw errors about keys to deny a person.
  it.each<[null | 'forbidden', Record<string, string>, number, string, string]>([
    [null, {}, 401, 'Sign in.', 'Bearer realm="keys"'],
    [null, { cookie: 'sid=1' }, 401, 'Sign in.', 'Cookie realm="keys"'],
    [null, { cookie: 'sid=1', authorization: 'x' }, 401, 'Sign in.', 'Bearer realm="keys"'],
    ['forbidden', {}, 403, NOT_ALLOWED, 'Bearer realm="keys", error="insufficient_scope"'],
    [
      'forbidden',
      { cookie: 'sid=1' },
      403,
      NOT_ALLOWED,
      'Cookie realm="keys", error="insufficient_scope"',
    ],
  ])('can return %j to deny: %j', async (value, headers, status, sentence, challenge) => {
    for (const returned of [() => value, () => Promise.resolve(value)]) {
      const set = saying(returned);
      await always(
        set,
        async (answer) => {
          const response = await answer;
          expect(response.headers.get('www-authenticate')).toBe(challenge);
          const { detail } = await answered(Promise.resolve(response), status);
          expect(detail).toBe(sentence);
        },
        headers,
      );
      expect(set.errors).toEqual([]);
    }
  });

  it('can return a Response, which is sent unchanged', async () => {
    const headers = { location: '/sign-in', 'set-cookie': 'a=b' };
    const redirect = () => new Response('Sign in.', { status: 302, headers });
    await always(saying(redirect), async (answer) => {
      const response = await answer;
      expect([response.status, await response.text()]).toEqual([302, 'Sign in.']);
      expect(Object.fromEntries(response.headers)).toMatchObject(headers);
    });
  });

  it('can return a Response of another class', async () => {
    class Other {
      readonly status = 418;
      readonly body = null;
      get [Symbol.toStringTag](): string {
        return 'Response';
      }
    }
    await always(
      saying(() => new Other()),
      async (answer) => expect((await answer).status).toBe(418),
    );
  });

  it.each<[string, () => unknown]>([
    ['an error', () => Promise.reject(new Error('postgres://user:password@host'))],
    ['a TypeError', () => untyped<{ a: { b: string } }>({}).a.b],
    ['an InputError of its own', () => Promise.reject(new InputError('name', 'malformed'))],
    ['a text', () => Promise.reject('postgres://user:password@host')],
    ['nothing', () => Promise.reject(undefined)],
  ])('causes a 500 without detail and a report if it throws %s', async (_name, authorityOf) => {
    const set = saying(authorityOf);
    await always(set, async (answer) => {
      const body = await answered(answer, 500);
      expect(JSON.stringify(body)).not.toMatch(/password|name|undefined/);
    });
    expect(set.errors).toHaveLength(ALL.length);
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['another text', 'unauthorized'],
    ['true', true],
    ['a text', OWN],
    ['an empty object', {}],
    ['a list', [GRANT]],
    ['no scopes', { entityId: OWN }],
    ['undefined scopes', { ...GRANT, scopes: undefined }],
    ['odd scopes', { ...GRANT, scopes: ['all'] }],
    ['no entity', { scopes: 'all' }],
    ['an odd entity', { ...GRANT, entityId: 'x y' }],
    ['an odd actor', { ...GRANT, actor: '' }],
    ['a field that is not known', { ...GRANT, entityUUID: OTHER }],
    ['inherited fields', Object.create(GRANT)],
    ['a promise in a list', [Promise.resolve(GRANT)]],
    ['a session', { user: 'ada', isAdmin: true }],
    ['a function', () => GRANT],
  ])('causes a 500 and a report, and nothing is done, if it returns %s', async (_name, value) => {
    for (const returned of [() => value, () => Promise.resolve(value)]) {
      const set = saying(returned);
      await always(set, (answer) => answered(answer, 500));
      expect(set.errors).toHaveLength(ALL.length);
      expect(set.errors[0]).toBeInstanceOf(TypeError);
    }
  });

  it('causes a 503 if it does not answer, and nothing is done later', async () => {
    const late: ((authority: object) => void)[] = [];
    const hang = () => new Promise((resolve) => late.push(resolve));
    const set = saying(hang, { authorityTimeoutMs: 5 });
    await always(set, async (answer) => {
      const response = await answer;
      expect(response.headers.get('retry-after')).toBe('1');
      await answered(Promise.resolve(response), 503);
    });
    for (const answer of late) answer(GRANT);
    await new Promise((resolve) => setImmediate(resolve));
    expect(set.calls).toEqual([]);
    expect(String(set.errors[0])).toContain('authorityOf did not answer within 5 ms');
  });

  it('causes a 503, not a 500, if its own store is broken', async () => {
    const set = saying(() => Promise.reject(new StoreError('store.findByDigest failed')));
    await always(set, (answer) => answered(answer, 503));
    expect(set.errors).toHaveLength(ALL.length);
  });

  it('provides the reason, unless the request has one', async () => {
    const authorityOf = () => ({ ...GRANT, reason: 'by ticket 7' });
    const { admin, keyring, events } = setUpAdmin({ authorityOf });
    const { info } = await keyring.issue(BODY, GRANT);
    await answered(admin(post(`/keys/${info.keyId}/suspend`)), 204);
    await answered(admin(post(`/keys/${info.keyId}/resume`, { reason: 'found' })), 204);
    const reasons = events.map((event) => ('reason' in event ? event.reason : undefined));
    expect(reasons).toEqual([undefined, 'by ticket 7', 'found']);
    const typed = setUpAdmin({ authorityOf: () => ({ ...GRANT, reason: 'a\nb' }) });
    await malformed(typed.admin(post('/keys', BODY)), 'reason');
  });
});
