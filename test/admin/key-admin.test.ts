/** Every endpoint over two stores, and the rules of HTTP for all of them. */
import { createKeyring } from 'keyscope';
import { createKeyAdmin, type KeyAdmin } from 'keyscope/admin';
import { addressedKeySchema, damagedKeySchema, keyInfoSchema } from 'keyscope/schemas';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  ACTOR,
  answered,
  BASE,
  BODY,
  GRANT,
  get,
  issueBy,
  malformed,
  post,
  STORES,
  setUpAdmin,
} from '../support/admin.ts';
import { catalog, HOUR, NOWHERE, OTHER, OWN, PEPPER, tampering } from '../support/keyring.ts';

const stateOf = async (admin: KeyAdmin, keyId: string) =>
  (await answered(admin(get(`/keys/${keyId}`)), 200)).state;

describe.each(STORES)('the endpoints over %s', (_name, createStore) => {
  it('issue a key, and show it only in that answer', async () => {
    const { admin, keyring } = setUpAdmin({}, createStore());
    const response = await admin(post('/keys', { ...BODY, metadata: { team: 'red' } }));
    const location = response.headers.get('location');
    const body = await answered(Promise.resolve(response), 201);
    expect(Object.keys(body)).toEqual(['key', 'info']);
    const info = keyInfoSchema.parse(body.info);
    expect(info).toMatchObject({ ...BODY, expiresAt: null, entityId: OWN, createdBy: ACTOR });
    expect(location).toBe(`/keys/${info.keyId}`);
    expect(await keyring.verify(body.key)).toMatchObject({ keyId: info.keyId });
    const found = await answered(admin(get(`${location}`)), 200);
    expect(keyInfoSchema.parse(found)).toEqual(info);
    const { keys } = await answered(admin(get('/keys')), 200);
    expect(keys).toEqual([found]);
  });

  it('read a date, and return it as text', async () => {
    const { admin, clock } = setUpAdmin({}, createStore());
    const expiresAt = new Date(clock.now() + HOUR).toISOString();
    const { info } = await answered(admin(post('/keys', { ...BODY, expiresAt })), 201);
    expect(info).toMatchObject({ expiresAt });
  });

  it('list keys in pages, newest first, and end with null', async () => {
    const { admin, clock } = setUpAdmin({}, createStore());
    const made: string[] = [];
    for (let index = 0; index < 5; index++) {
      made.unshift(await issueBy(admin, { name: `key ${index}` }));
      clock.advance(1);
    }
    const found: string[] = [];
    let next: unknown = '';
    while (next !== null) {
      const after = next === '' ? '' : `&after=${String(next)}`;
      const page = await answered(admin(get(`/keys?limit=2${after}`)), 200);
      const keys = keyInfoSchema.array().parse(page.keys);
      expect(keys.length).toBeLessThanOrEqual(2);
      found.push(...keys.map(({ keyId }) => keyId));
      next = page.next;
    }
    expect(found).toEqual(made);
  });

  it('rotate a key to one with fewer rights, and show that once', async () => {
    const { admin, keyring, events } = setUpAdmin({}, createStore());
    const keyId = await issueBy(admin, { scopes: ['threats:read', 'threats:write'] });
    const input = { overlapMs: HOUR, scopes: ['threats:read'], name: 'narrower' };
    const response = await admin(post(`/keys/${keyId}/rotate`, input));
    const location = response.headers.get('location');
    const { key, info } = await answered(Promise.resolve(response), 201);
    const { keyId: successor, ...rest } = keyInfoSchema.parse(info);
    expect(rest).toMatchObject({ name: 'narrower', scopes: ['threats:read'], rotatedFrom: keyId });
    expect(location).toBe(`/keys/${successor}`);
    expect((await keyring.verify(key)).keyId).toBe(successor);
    expect(events.at(-1)).toMatchObject({ type: 'key.rotated', actor: ACTOR });
  });

  it('suspend and resume with a reason and an actor, and give the same answer twice', async () => {
    const { admin, events } = setUpAdmin({}, createStore());
    const keyId = await issueBy(admin);
    const reason = 'unused since March';
    for (let time = 0; time < 2; time++) {
      expect(await answered(admin(post(`/keys/${keyId}/suspend`, { reason })), 204)).toEqual({});
      const info = await answered(admin(get(`/keys/${keyId}`)), 200);
      expect(info).toMatchObject({ state: 'suspended', endedBy: ACTOR, endReason: reason });
    }
    await answered(admin(post(`/keys/${keyId}/resume`, { reason: 'in use again' })), 204);
    expect(await stateOf(admin, keyId)).toBe('live');
    const told = events.map(({ type, ...event }) => ({ type, ...('actor' in event && event) }));
    expect(told.slice(1)).toMatchObject([
      { type: 'key.suspended', actor: ACTOR, reason },
      { type: 'key.resumed', actor: ACTOR, reason: 'in use again' },
    ]);
  });

  it('revoke one key for good, but not its successor', async () => {
    const { admin, events } = setUpAdmin({}, createStore());
    const keyId = await issueBy(admin);
    const rotated = await answered(admin(post(`/keys/${keyId}/rotate`, { overlapMs: HOUR })), 201);
    const successor = keyInfoSchema.parse(rotated.info).keyId;
    await answered(admin(post(`/keys/${keyId}/revoke`, { reason: 'left the company' })), 204);
    expect(await stateOf(admin, keyId)).toBe('revoked');
    expect(await stateOf(admin, successor)).toBe('live');
    expect(events.at(-1)).toMatchObject({
      type: 'key.revoked',
      actor: ACTOR,
      reason: 'left the company',
    });
    await answered(admin(post(`/keys/${keyId}/revoke`)), 204);
    await answered(admin(post(`/keys/${keyId}/resume`)), 409);
  });

  it('revoke a lineage, and return the ids of the ended keys', async () => {
    const { admin, events } = setUpAdmin({}, createStore());
    const keyId = await issueBy(admin);
    const rotated = await answered(admin(post(`/keys/${keyId}/rotate`, { overlapMs: HOUR })), 201);
    const successor = keyInfoSchema.parse(rotated.info).keyId;
    const path = `/keys/${successor}/revoke-lineage`;
    const { revoked } = await answered(admin(post(path, { reason: 'found on GitHub' })), 200);
    expect([...(revoked as string[])].sort()).toEqual([keyId, successor].sort());
    expect(await stateOf(admin, keyId)).toBe('revoked');
    expect(events.at(-1)).toMatchObject({ actor: ACTOR, reason: 'found on GitHub' });
    expect(await answered(admin(post(path)), 200)).toEqual({ revoked: [] });
  });

  it('list the keys of others that address the entity, and withdraw from one', async () => {
    const { admin, keyring, events } = setUpAdmin({}, createStore());
    const authority = { entityId: OTHER, entities: [OWN], scopes: 'all', actor: 'bob' } as const;
    const input = { ...BODY, accessibleEntities: [OWN] } as const;
    const { info } = await keyring.issue(input, authority);
    const own = await answered(admin(get('/keys?addressing=false')), 200);
    expect(own.keys).toEqual([]);
    const { keys } = await answered(admin(get('/keys?addressing=true')), 200);
    const [found] = addressedKeySchema.array().parse(keys);
    expect(found).toMatchObject({ keyId: info.keyId, entityId: OTHER, withdrawn: [] });
    await answered(admin(post(`/keys/${info.keyId}/withdraw`, { reason: 'contract ended' })), 204);
    const after = await answered(admin(get('/keys?addressing=true')), 200);
    expect(after.keys).toMatchObject([{ withdrawn: [OWN] }]);
    expect(events.at(-1)).toMatchObject({
      type: 'key.withdrawn',
      withdrawnEntity: OWN,
      actor: ACTOR,
      reason: 'contract ended',
    });
    await malformed(admin(post(`/keys/${await issueBy(admin)}/withdraw`)), 'keyId');
  });

  it('find no keys of another organization, and report the attempt to the owner', async () => {
    const { admin, keyring, events } = setUpAdmin({}, createStore());
    const { info } = await keyring.issue(BODY, { entityId: OTHER, scopes: 'all' });
    for (const keyId of [info.keyId, NOWHERE, 'x', '%20', '{keyId}', info.keyId.toUpperCase()]) {
      const bodies: string[] = [];
      const requests = [
        get(`/keys/${keyId}`),
        post(`/keys/${keyId}/rotate`, { overlapMs: 0 }),
        ...['suspend', 'resume', 'revoke', 'revoke-lineage', 'withdraw'].map((action) =>
          post(`/keys/${keyId}/${action}`),
        ),
      ];
      for (const request of requests) {
        bodies.push(JSON.stringify(await answered(admin(request), 404)));
      }
      expect(new Set(bodies).size).toBe(1);
      expect(bodies[0]).toContain('"error":"not_found"');
    }
    const reasons = events.flatMap((event) =>
      event.type === 'management.denied' ? [event.denialReason] : [],
    );
    expect(reasons.filter((reason) => reason === 'foreign_key')).toHaveLength(7);
    expect(await keyring.get(info.keyId, { entityId: OTHER })).toMatchObject({ state: 'live' });
  });

  it('grant no more than the authority has', async () => {
    const authorityOf = () => ({ ...GRANT, scopes: ['threats:*'], maxLifetimeMs: HOUR });
    const { admin, clock, events } = setUpAdmin({ authorityOf }, createStore());
    const expiresAt = new Date(clock.now() + HOUR).toISOString();
    const within = { ...BODY, expiresAt };
    for (const over of [
      { scopes: ['decoys:read'] },
      { accessibleEntities: [OTHER] },
      { expiresAt: 'never' },
    ]) {
      const answer = admin(post('/keys', { ...within, ...over }));
      expect(await answered(answer, 403)).toMatchObject({ error: 'ceiling_exceeded' });
      expect(events.at(-1)).toMatchObject({ type: 'management.denied', actor: ACTOR });
    }
    await answered(admin(post('/keys', within)), 201);
  });

  it('answer 409, not 401, for a key that is not live, as the caller is signed in', async () => {
    const { admin } = setUpAdmin({}, createStore());
    const keyId = await issueBy(admin);
    await answered(admin(post(`/keys/${keyId}/suspend`)), 204);
    const answer = admin(post(`/keys/${keyId}/rotate`, { overlapMs: 0 }));
    expect(await answered(answer, 409)).toMatchObject({ error: 'conflict' });
    await answered(admin(post(`/keys/${keyId}/resume`)), 204);
    await answered(admin(post(`/keys/${keyId}/rotate`, { overlapMs: HOUR })), 201);
    const again = admin(post(`/keys/${keyId}/rotate`, { overlapMs: HOUR }));
    expect(await answered(again, 409)).toMatchObject({ error: 'conflict' });
  });
});

describe('the endpoints of one key', () => {
  it('answer 400 to a key in the path, which no answer, event or log repeats', async () => {
    const { admin, keyring, events, errors } = setUpAdmin();
    const { key } = await keyring.issue({ ...BODY, expiresAt: 'never' }, GRANT);
    events.length = 0;
    const paths = ['rotate', 'suspend', 'resume', 'revoke', 'revoke-lineage', 'withdraw'];
    const requests = paths.map((path) =>
      post(`/keys/${key}/${path}`, path === 'rotate' ? { overlapMs: 0 } : {}),
    );
    for (const request of [get(`/keys/${key}`), ...requests]) {
      const problem = await answered(admin(request), 400);
      expect(problem).toMatchObject({ error: 'invalid_input', field: 'keyId' });
      expect(problem.detail).toMatch(/^keyId: the id of a key, not the key/);
      expect(JSON.stringify(problem)).not.toContain(key);
    }
    expect([events, errors]).toEqual([[], []]);
  });
});

describe('a damaged row', () => {
  it('is listed as damaged, and does not hide others', async () => {
    const store = memoryStore();
    const { admin: before } = setUpAdmin({}, store);
    const keyId = await issueBy(before);
    await issueBy(before);
    const damaging = tampering(store, (row) => (row.keyId === keyId ? { ...row, scopes: 7 } : row));
    const { admin } = setUpAdmin({}, damaging);
    const damaged = { keyId, entityId: OWN, state: 'damaged' };
    const found = await answered(admin(get(`/keys/${keyId}`)), 200);
    expect(damagedKeySchema.parse(found)).toEqual(damaged);
    const { keys } = await answered(admin(get('/keys')), 200);
    expect(keys).toHaveLength(2);
    expect(keys).toContainEqual(damaged);
  });
});

describe('the handler', () => {
  const { admin, keyring } = setUpAdmin();

  it.each([
    '/',
    '/key',
    '/keysx',
    '/keys/',
    '/keys//rotate',
    '/KEYS',
    `/keys/${NOWHERE}/`,
    `/keys/${NOWHERE}/delete`,
    `/keys/${NOWHERE}/rotate/x`,
    `/x/keys/${NOWHERE}`,
    '/keys/constructor/constructor',
  ])('answers 404 at %s', async (path) => {
    for (const request of [get(path), post(path)]) {
      const problem = await answered(admin(request), 404);
      expect(problem).not.toHaveProperty('error');
    }
  });

  it.each([
    ['/keys', 'GET, HEAD, POST, OPTIONS', ['PUT', 'PATCH', 'DELETE', 'get', 'QUERY']],
    [`/keys/${NOWHERE}`, 'GET, HEAD, OPTIONS', ['POST', 'DELETE', 'PUT']],
    [`/keys/${NOWHERE}/revoke`, 'POST, OPTIONS', ['GET', 'HEAD', 'DELETE']],
  ])('lists the methods of %s', async (path, allow, others) => {
    for (const method of ['OPTIONS', ...others]) {
      const request = { url: BASE + path, method, headers: new Headers() } as Request;
      const response = await admin(request);
      const status = method === 'OPTIONS' ? 204 : 405;
      expect([method, response.status]).toEqual([method, status]);
      expect(response.headers.get('allow')).toBe(allow);
      expect(response.headers.get('cache-control')).toBe('no-store');
    }
  });

  it('does not allow a preflight, so pages of other origins get no permission', async () => {
    const headers = {
      origin: 'https://evil.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type',
    };
    const request = new Request(`${BASE}/keys`, { method: 'OPTIONS', headers });
    const names = [...(await admin(request)).headers.keys()];
    expect(names.filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('answers HEAD like GET, without the body', async () => {
    const { info } = await keyring.issue(BODY, GRANT);
    for (const [path, status] of [
      ['/keys', 200],
      [`/keys/${info.keyId}`, 200],
      [`/keys/${NOWHERE}`, 404],
    ] as const) {
      const shown = await admin(get(path));
      const response = await admin(new Request(BASE + path, { method: 'HEAD' }));
      expect([response.status, await response.text()]).toEqual([status, '']);
      expect([...response.headers]).toEqual([...shown.headers]);
      expect(await shown.text()).not.toBe('');
    }
  });

  it('uses another base path', async () => {
    const { admin: mounted } = setUpAdmin({ basePath: '/v1/api-keys' });
    const response = await mounted(post('/v1/api-keys', BODY));
    expect(response.headers.get('location')).toMatch(/^\/v1\/api-keys\/[0-9a-f-]{36}$/);
    await answered(mounted(get(String(response.headers.get('location')))), 200);
    await answered(mounted(get('/keys')), 404);
  });

  it.each([
    '/v1/keysmith',
    `/v1/keysmith/${NOWHERE}`,
    `/v1/keysmith/${NOWHERE}/revoke`,
    '/v1/keys-old',
    '/v1/keys.json',
    '/v1/keys%2F',
    '/v1/keys/',
    '/v1/keys//',
    '/v1/key',
    '/V1/keys',
    '/x/v1/keys',
  ])('answers 404 at a path that only resembles its own: %s', async (path) => {
    let asked = 0;
    const authorityOf = () => {
      asked += 1;
      return GRANT;
    };
    const { admin: mounted } = setUpAdmin({ basePath: '/v1/keys', authorityOf });
    await answered(mounted(get(path)), 404);
    await answered(mounted(post(path, BODY)), 404);
    await answered(mounted(new Request(BASE + path, { method: 'OPTIONS' })), 404);
    expect(asked).toBe(0);
  });

  it('ignores further arguments of servers, such as the parameters of a route', async () => {
    const beside = { params: Promise.resolve({ path: ['x'] }), env: {}, incoming: {} };
    await answered(admin(post('/keys', BODY), beside), 201);
    await answered(admin(get('/keys'), { parsedBody: { x: 1 } }), 200);
  });

  it('throws without a fetch Request', async () => {
    const node = { url: '/keys', method: 'GET', headers: {} };
    await expect(admin(node as unknown as Request)).rejects.toThrow('getRequestListener');
  });

  it('does not read any cookie or credential', async () => {
    const request = post('/keys', BODY, { cookie: 'session=1', authorization: 'Bearer x' });
    const read: string[] = [];
    const headers = new Proxy(request.headers, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: readonly string[]): unknown => {
          read.push(String(args[0]));
          return Reflect.apply(value, target, args) as unknown;
        };
      },
    });
    Object.defineProperty(request, 'headers', { value: headers });
    await answered(admin(request), 201);
    expect(read).toContain('sec-fetch-site');
    expect(
      read.filter(
        (name) => !/^(?:origin|sec-fetch-site|host|(?:content|transfer)-[a-z]+)$/.test(name),
      ),
    ).toEqual([]);
  });
});

describe('a broken store', () => {
  it('causes a 503 and a report, never a 400 or 404', async () => {
    const store = memoryStore();
    const fails = () => Promise.reject(new Error('the database is away'));
    const broken = { ...store, insert: fails, findById: fails, list: fails };
    const { admin, errors } = setUpAdmin({}, broken);
    for (const request of [
      get('/keys'),
      get(`/keys/${NOWHERE}`),
      post('/keys', BODY),
      post(`/keys/${NOWHERE}/rotate`, { overlapMs: 0 }),
      post(`/keys/${NOWHERE}/revoke`),
    ]) {
      const response = await admin(request);
      expect(response.headers.get('retry-after')).toBe('1');
      await answered(Promise.resolve(response), 503);
    }
    expect(errors).toHaveLength(5);
  });

  it('causes a 503 also without a listener, or if the listener throws', async () => {
    const store = memoryStore();
    const list = () => Promise.reject(new Error('the database is away'));
    const options = { prefix: 'acme', catalog, peppers: [PEPPER], store: { ...store, list } };
    const keyring = createKeyring(options);
    const onError = () => {
      throw new Error('a broken listener');
    };
    const authorityOf = () => GRANT;
    for (const more of [{}, { onError }]) {
      const admin = createKeyAdmin({ keyring, authorityOf, ...more });
      await answered(admin(get('/keys')), 503);
    }
  });
});
