/** The refusals of malformed requests, before and after the body is read. */
import { describe, expect, it } from 'vitest';
import {
  answered,
  BASE,
  BODY,
  get,
  issueBy,
  malformed,
  post,
  setUpAdmin,
} from '../support/admin.ts';
import { NOWHERE, OTHER, OWN } from '../support/keyring.ts';

const { admin } = setUpAdmin();

/** The paths of all endpoints that read a body. */
const POSTS = [
  '/keys',
  ...['rotate', 'suspend', 'resume', 'revoke', 'revoke-lineage', 'withdraw'].map(
    (action) => `/keys/${NOWHERE}/${action}`,
  ),
];

const LONG = 128 * 1024;

describe('a body of any endpoint', () => {
  it.each([
    '',
    '{',
    '{"name":',
    'null',
    '1',
    '"text"',
    '[]',
    '[{}]',
    '{}{}',
    "{'name':'x'}",
    '\0',
    '{"__proto__":{"reason":"x"}}',
    '{"constructor":1}',
    '{"toString":1}',
    '{"x":1}',
    `{"a":${'['.repeat(60_000)}`,
    `{"a":${'['.repeat(60_000)}${']'.repeat(60_000)}}`,
  ])('is refused as a whole if it is %.40s', async (body) => {
    for (const path of POSTS) await malformed(admin(post(path, body)), 'input');
  });

  it.each<[unknown, string]>([
    ['', 'reason'],
    [null, 'reason'],
    [7, 'reason'],
    [['x'], 'reason'],
    [{}, 'reason'],
    ['a\nb', 'reason'],
    ['a\u202eb', 'reason'],
    ['\ud800', 'reason'],
    ['x'.repeat(201), 'reason'],
    [`acme_${'G1h2J3k4'.repeat(4)}`, 'reason'],
  ])('is refused with the reason %j', async (reason, field) => {
    for (const path of POSTS.slice(2)) await malformed(admin(post(path, { reason })), field);
  });

  it.each([
    undefined,
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/plain; application/json',
    'text/plain, application/json',
    'application/json, text/plain',
    'application/jsonp',
    'application/json5',
    'application/json-patch+json',
    'application/problem+json',
    'application /json',
    'application/json x',
    '',
  ])('is refused with the type %s', async (type) => {
    for (const path of POSTS) {
      const request = post(path, BODY);
      if (type === undefined) request.headers.delete('content-type');
      else request.headers.set('content-type', type);
      const response = await admin(request);
      expect(response.headers.get('accept')).toBe('application/json');
      await answered(Promise.resolve(response), 415);
      expect(request.bodyUsed).toBe(false);
    }
  });

  it.each([
    'application/json',
    'Application/JSON',
    'application/json;charset=utf-8',
    'application/json ; a=b',
  ])('is accepted with the type %s', async (type) => {
    await answered(admin(post('/keys', BODY, { 'content-type': type })), 201);
  });

  it('may have 128 KiB at most, whether its length is announced, wrong or missing', async () => {
    const text = JSON.stringify(BODY);
    const exact = text + ' '.repeat(LONG - text.length);
    await answered(admin(post('/keys', exact)), 201);
    for (const path of POSTS) {
      await answered(admin(post(path, `${exact} `)), 413);
      for (const headers of [{}, { 'content-length': '9', 'transfer-encoding': 'chunked' }]) {
        const { request, seen } = endless(path, headers);
        await answered(admin(request), 413);
        expect(seen.sent).toBeLessThan(LONG / 1000 + 10);
        expect(seen.cancelled).toBe(true);
      }
    }
  });

  it('is refused without a report if it breaks off', async () => {
    const { admin: other, errors } = setUpAdmin();
    const body = new ReadableStream({
      pull() {
        throw new Error('the client went away');
      },
    });
    const request = new Request(`${BASE}/keys`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      duplex: 'half',
    });
    await malformed(other(request), 'input');
    expect(errors).toEqual([]);
  });

  it('causes an error that says what to do if it was read before and not passed', async () => {
    const read = async (): Promise<Request> => {
      const request = post('/keys', BODY);
      await request.text();
      return request;
    };
    const { admin, errors } = setUpAdmin();
    const { detail } = await answered(admin(await read()), 500);
    expect(detail).toContain('admin(request, { parsedBody: req.body })');
    // Only the answer once had it, so operators never learned of it.
    expect(errors).toEqual([new TypeError(`admin: ${String(detail)}`)]);
    await answered(admin(await read(), { parsedBody: BODY }), 201);
    // The passed body is checked like a sent one, and so is the type of the request.
    for (const parsedBody of [null, '', JSON.stringify(BODY), [], 7, Buffer.from('{}')]) {
      await malformed(admin(await read(), { parsedBody }), 'input');
    }
    const form = post('/keys', BODY, { 'content-type': 'application/x-www-form-urlencoded' });
    await answered(admin(form, { parsedBody: BODY }), 415);
  });
});

interface Streamed {
  readonly request: Request;
  readonly seen: { sent: number; cancelled: boolean };
}

/** A request that never ends, and the number of bytes that were read. */
function endless(path: string, more: Readonly<Record<string, string>>): Streamed {
  const seen = { sent: 0, cancelled: false };
  const source = {
    pull(controller: ReadableStreamDefaultController<Uint8Array>): void {
      seen.sent += 1;
      controller.enqueue(new Uint8Array(1000).fill(32));
    },
    cancel(): void {
      seen.cancelled = true;
    },
  };
  const body = new ReadableStream<Uint8Array>(source, { highWaterMark: 0 });
  const headers = { 'content-type': 'application/json', ...more };
  const init = { method: 'POST', headers, body, duplex: 'half' } as const;
  return { request: new Request(BASE + path, init), seen };
}

describe('the input of issue', () => {
  const { admin, store } = setUpAdmin();

  it.each<[object, string]>([
    [{ name: undefined }, 'name'],
    [{ name: 7 }, 'name'],
    [{ name: '' }, 'name'],
    [{ name: 'a\u0000b' }, 'name'],
    [{ name: 'x'.repeat(101) }, 'name'],
    [{ name: `acme_${'G1h2J3k4'.repeat(4)}` }, 'name'],
    [{ scopes: undefined }, 'scopes'],
    [{ scopes: 'threats:read' }, 'scopes'],
    [{ scopes: ['threats:raed'] }, 'scopes'],
    [{ scopes: [null] }, 'scopes'],
    [{ scopes: { 0: 'threats:read', length: 1 } }, 'scopes'],
    [{ scopes: new Array(257).fill('threats:read') }, 'scopes'],
    [{ scopes: ['*:*'] }, 'scopes'],
    [{ scopes: ['users:read'] }, 'justification'],
    [{ scopes: ['users:read'], justification: 7 }, 'justification'],
    [{ expiresAt: undefined }, 'expiresAt'],
    [{ expiresAt: null }, 'expiresAt'],
    [{ expiresAt: 0 }, 'expiresAt'],
    [{ expiresAt: '2001-01-01T00:00:00Z' }, 'expiresAt'],
    [{ expiresAt: '2030-01-01' }, 'expiresAt'],
    [{ expiresAt: '2030-02-31T00:00:00Z' }, 'expiresAt'],
    [{ accessibleEntities: OTHER }, 'accessibleEntities'],
    [{ accessibleEntities: ['x'] }, 'accessibleEntities'],
    [{ accessibleEntities: [OTHER.toUpperCase()] }, 'accessibleEntities'],
    [{ metadata: [] }, 'metadata'],
    [{ metadata: { a: 1 } }, 'metadata'],
    [{ metadata: { a: { b: 'c' } } }, 'metadata'],
    [{ metadata: { a: 'x'.repeat(2048) } }, 'metadata'],
    [{ entityId: OTHER }, 'input'],
    [{ actor: 'root' }, 'input'],
    [{ createdBy: 'root' }, 'input'],
    [{ reason: 'x' }, 'input'],
    [{ maxLifetimeMs: 1 }, 'input'],
  ])('is refused: %j, by its field', async (over, field) => {
    await malformed(admin(post('/keys', { ...BODY, ...over })), field);
    const rows = [OWN, OTHER].map((entityId) =>
      store.list({ prefix: 'acme', entityId, after: null, limit: 9 }),
    );
    expect((await Promise.all(rows)).flat()).toEqual([]);
  });

  it('does not accept fields of the prototype', async () => {
    const text = `{"__proto__":{"justification":"x"},${JSON.stringify(BODY).slice(1)}`;
    await malformed(admin(post('/keys', text)), 'input');
  });
});

describe('the input of rotate', () => {
  it.each<[object, string]>([
    [{}, 'overlapMs'],
    [{ overlapMs: '0' }, 'overlapMs'],
    [{ overlapMs: -1 }, 'overlapMs'],
    [{ overlapMs: 0.5 }, 'overlapMs'],
    [{ overlapMs: 1e300 }, 'overlapMs'],
    [{ overlapMs: 0, name: null }, 'name'],
    [{ overlapMs: 0, scopes: ['threats:*'] }, 'scopes'],
    [{ overlapMs: 0, scopes: ['threats:raed'] }, 'scopes'],
    [{ overlapMs: 0, expiresAt: '2001-01-01T00:00:00Z' }, 'expiresAt'],
    [{ overlapMs: 0, accessibleEntities: [7] }, 'accessibleEntities'],
    [{ overlapMs: 0, metadata: {} }, 'input'],
  ])('is refused: %j, by its field', async (body, field) => {
    const keyId = await issueBy(admin);
    await malformed(admin(post(`/keys/${keyId}/rotate`, body)), field);
    const { state } = await answered(admin(get(`/keys/${keyId}`)), 200);
    expect(state).toBe('live');
  });
});

describe('a query', () => {
  it.each([
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=1.0', 'limit'],
    ['limit=+1', 'limit'],
    ['limit=', 'limit'],
    ['limit=1&limit=1', 'limit'],
    ['limit=1&limit=1&limit=1', 'limit'],
    ['after=', 'after'],
    ['after=x', 'after'],
    [`after=0.${NOWHERE}x`, 'after'],
    ['after=null&after=null', 'after'],
    ['addressing=1', 'addressing'],
    ['addressing=TRUE', 'addressing'],
    ['addressing=true&addressing=true', 'addressing'],
    ['entityId=x', 'input'],
    ['Limit=1', 'input'],
    ['limit[]=1', 'input'],
    ['__proto__=1', 'input'],
    ['toString=1', 'input'],
    ['=', 'input'],
    ['x=1&x=2', 'input'],
  ])('is refused by the list if it is %s', async (query, field) => {
    await malformed(admin(get(`/keys?${query}`)), field);
  });

  it('is refused by endpoints that do not read one', async () => {
    await malformed(admin(get(`/keys/${NOWHERE}?limit=1`)), 'input');
    for (const path of POSTS) await malformed(admin(post(`${path}?overlapMs=0`, BODY)), 'input');
  });

  it('may be empty', async () => {
    await answered(admin(get('/keys?')), 200);
  });

  it('is refused quickly if it has 10,000 names', async () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `a${index}`).join('&');
    const started = performance.now();
    await malformed(admin(get(`/keys?${names}`)), 'input');
    expect(performance.now() - started).toBeLessThan(1000);
  });
});
