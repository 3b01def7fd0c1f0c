import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, connect, Socket } from 'node:net';
import fc from 'fast-check';
import { Hono } from 'hono';
import type { KeyRecord, KeyringEvent, Principal, RequestLike, TokenVerifier } from 'keyscope';
import { AccessError, definePolicy, generateKey, hasScopes } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  catalog,
  delayed,
  denied,
  HOUR,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  recording,
  START,
  setUp,
  storeError,
  THIRD,
  tampering,
  thrown,
  untyped,
  wrap,
} from '../support/keyring.ts';
import { runs } from '../support/runs.ts';

const policy = definePolicy(catalog, {
  whoami: [],
  list: ['threats:read'],
  remove: ['threats:delete'],
});

const bearer = (key: string) => `Bearer ${key}`;

/** Something with a `then` of the test's own: what a listener may return that is no promise. */
const thenable = (then: (resolve: unknown, reject: (error: Error) => void) => void): object => ({
  then,
});

/**
 * What Node's IncomingMessage shows: `headers` hides a second Authorization line, `rawHeaders` has
 * both.
 */
const incoming = (...lines: readonly string[]) => ({
  rawHeaders: ['Host', 'x', ...lines.flatMap((line) => ['aUTHORIZATION', line]), 'X-Api-Key', 'y'],
  headers: { host: 'x', authorization: lines[0] },
});

describe('authenticate', () => {
  const good: readonly (readonly [string, (value: string) => RequestLike])[] = [
    ['a fetch Request', (value) => new Request('http://x/', { headers: { AUTHORIZATION: value } })],
    ['fetch Headers', (value) => new Headers({ authorization: value })],
    ['an object with Headers', (value) => ({ headers: new Headers({ authorization: value }) })],
    ['an IncomingMessage', (value) => incoming(value)],
    // Node's makes an object of all lines when it is asked for its headers: 0.2 to 0.5 µs, for
    // nothing.
    [
      'an IncomingMessage without asking for its headers',
      (value) => ({
        rawHeaders: ['Authorization', value],
        get headers(): never {
          throw new Error('the headers were read');
        },
      }),
    ],
    ['plain headers', (value) => ({ authorization: value, cookie: 'a=b' })],
    ['plain headers in odd case', (value) => ({ aUtHoRiZaTiOn: value })],
    ['plain headers with a list', (value) => ({ authorization: [value] })],
    [
      'plain headers with a second that is undefined',
      (value) => ({ authorization: undefined, Authorization: value }),
    ],
    [
      'plain headers with one that is named headers',
      (value) => ({ headers: 'x', authorization: value }),
    ],
    [
      'plain headers without a prototype',
      (value) => Object.assign(Object.create(null), { authorization: value }),
    ],
    ['an object with plain headers', (value) => ({ headers: { Authorization: value } })],
    // An event of API Gateway or of an Application Load Balancer.
    [
      'an event of AWS',
      (value) => ({
        headers: { Authorization: value },
        multiValueHeaders: { Authorization: [value] },
        requestContext: {},
      }),
    ],
    [
      'an event of AWS without lists',
      (value) => ({ headers: { Authorization: value }, multiValueHeaders: {}, requestContext: {} }),
    ],
    [
      'an event of AWS with no lists',
      (value) => ({ headers: { authorization: value }, multiValueHeaders: null }),
    ],
    // As Node's `headersDistinct`: whoever sends these names is no mistake of the server's.
    [
      'lists of values by name, also by these names',
      (value) => ({
        headers: ['x'],
        multiValueHeaders: ['x'],
        raw: ['x'],
        req: ['x'],
        authorization: [value],
      }),
    ],
    [
      'an event of AWS with lists alone',
      (value) => ({ multiValueHeaders: { authorization: [value] } }),
    ],
    ['the value', (value) => value],
    ['a list of the one value', (value) => [value]],
  ];

  // A service in a function of a cloud: its framework is given a request that was put together,
  // without raw lines, and every caller was told to send a key.
  it('reads a request of Node that was made by hand', async () => {
    const { keyring } = setUp();
    const { key, info } = await issue(keyring);
    const request = new IncomingMessage(new Socket());
    Object.assign(request, { method: 'GET', url: '/', headers: { authorization: bearer(key) } });
    expect(request.rawHeaders).toEqual([]);
    expect((await keyring.authenticate(request)).keyId).toBe(info.keyId);
    await denied(
      () => keyring.authenticate(new IncomingMessage(new Socket())),
      'missing_credentials',
      'no_header',
    );
  });

  // What holds a request was taken for headers without an Authorization: each caller was told to
  // send a key, for ever.
  const strange: readonly (readonly [string, (request: Request) => unknown])[] = [
    ['an object around the request', (request) => ({ request, params: {} })],
    ['a promise of headers', async (request) => request.headers],
    ['an object that gives headers one by one', () => ({ getHeader: () => 'Bearer x' })],
    ['a socket', () => new Socket()],
  ];

  it.each(strange)('refuses %s as a mistake', async (_what, wrap) => {
    const { keyring, events } = setUp();
    const { key } = await issue(keyring);
    const request = new Request('http://x/', { headers: { authorization: bearer(key) } });
    const error = new TypeError(
      'request: pass the request itself or its headers; this object is neither',
    );
    await expect(keyring.authenticate(untyped(wrap(request)))).rejects.toEqual(error);
    const admitted = keyring.admit(untyped(wrap(request)), { policy, operation: 'list' });
    await expect(admitted).rejects.toEqual(error);
    expect(events.map(({ type }) => type)).toEqual(['key.issued']);
  });

  // Hono's context has a `get` that is not of headers: it was answered that the header is missing,
  // which was there.
  it('reads what Hono hands to a handler', async () => {
    const { keyring } = setUp();
    const { key, info } = await issue(keyring);
    const app = new Hono();
    app.get('/context', async (c) => c.text((await keyring.authenticate(untyped(c))).keyId));
    app.get('/request', async (c) => c.text((await keyring.authenticate(untyped(c.req))).keyId));
    for (const path of ['/context', '/request']) {
      const answer = await app.request(path, { headers: { authorization: bearer(key) } });
      expect(await answer.text()).toBe(info.keyId);
    }
  });

  it.each(good)('reads %s', async (_what, request) => {
    const { keyring } = setUp();
    const { key, info } = await issue(keyring);
    expect((await keyring.authenticate(request(bearer(key)))).keyId).toBe(info.keyId);
    expect((await keyring.authenticate(request(`bEARER  ${key}`))).keyId).toBe(info.keyId);
    await denied(
      () => keyring.authenticate(request(`Basic ${key}`)),
      'missing_credentials',
      'other_scheme',
    );
    await denied(
      () => keyring.authenticate(request('Bearer')),
      'invalid_request',
      'malformed_header',
    );
    await denied(
      () => keyring.authenticate(request(`Bearer ${key}, Bearer ${key}`)),
      'invalid_request',
      'malformed_header',
    );
    await denied(
      () => keyring.authenticate(request(`Bearer ${key}0`)),
      'invalid_token',
      'malformed_key',
    );
  });

  const none: readonly (readonly [string, (key: string) => RequestLike])[] = [
    ['nothing', () => undefined],
    ['null', () => null],
    ['an empty list', () => []],
    ['a Request without the header', () => new Request('http://x/')],
    ['empty Headers', () => new Headers()],
    ['an IncomingMessage without the header', () => incoming()],
    ['no headers', () => ({})],
    [
      'an event of AWS without headers',
      () => ({ headers: null, multiValueHeaders: null, requestContext: {} }),
    ],
    [
      'an event of AWS with an empty list of headers',
      () => ({ multiValueHeaders: {}, requestContext: {} }),
    ],
    ['lists of values by name, also by this one', () => ({ headers: ['x'], host: ['localhost'] })],
    ['an event of AWS that has null for headers', () => ({ headers: null, requestContext: {} })],
    ['headers that are undefined', () => ({ authorization: undefined })],
    ['an empty list of values', () => ({ authorization: [] })],
    [
      'a key in other places',
      (key) => ({
        'proxy-authorization': bearer(key),
        'x-api-key': key,
        'x-authorization': bearer(key),
        'x-forwarded-authorization': bearer(key),
        authorizatio: bearer(key),
        cookie: `authorization=${bearer(key)}`,
      }),
    ],
    [
      'a key in the URL or the body',
      (key) =>
        new Request(`http://x/?authorization=Bearer%20${key}&api_key=${key}`, {
          method: 'POST',
          body: key,
        }),
    ],
    ['an inherited header', (key) => Object.create({ authorization: bearer(key) })],
    ['a look-alike name', (key) => ({ 'author\u0131zation': bearer(key) })],
  ];

  it.each(none)('finds no credential in %s', async (_what, request) => {
    const { keyring } = setUp();
    const { key } = await issue(keyring);
    await denied(() => keyring.authenticate(request(key)), 'missing_credentials', 'no_header');
  });

  const malformed: readonly (readonly [string, (key: string) => RequestLike])[] = [
    [
      'two lines on Node, of which `headers` hides one',
      (key) => incoming(bearer(key), bearer(key)),
    ],
    ['two lines on Node, the second another scheme', (key) => incoming(bearer(key), 'Basic eDp5')],
    ['two lines on Node, the first another scheme', (key) => incoming('Basic eDp5', bearer(key))],
    [
      'two lines in an event of AWS, of which `headers` has the last',
      (key) => ({
        headers: { a: bearer(key) },
        multiValueHeaders: { a: [], Authorization: ['Basic eDp5', bearer(key)] },
      }),
    ],
    [
      'two lines in Headers',
      (key) =>
        new Headers([
          ['authorization', bearer(key)],
          ['authorization', bearer(key)],
        ]),
    ],
    ['two values', (key) => [bearer(key), bearer(key)]],
    [
      'two values in a list of plain headers',
      (key) => ({ authorization: [bearer(key), bearer(key)] }),
    ],
    [
      'two spellings of the name',
      (key) => ({ authorization: bearer(key), Authorization: bearer(key) }),
    ],
    ['the empty text', () => ''],
    ['an empty value', () => ({ authorization: '' })],
    ['a number', () => untyped({ authorization: 7 })],
    ['a nested list', (key) => untyped([[bearer(key)]])],
    ['more than 16 KiB', (key) => `${bearer(key)}${'='.repeat(16_384)}`],
    ['a control character', (key) => `${bearer(key)}\u0000`],
  ];

  it.each(malformed)('refuses %s, and asks no store', async (_what, request) => {
    const { store, calls } = recording(memoryStore());
    const { keyring } = setUp({ store });
    const { key } = await issue(keyring);
    calls.length = 0;
    await denied(() => keyring.authenticate(request(key)), 'invalid_request', 'malformed_header');
    expect(calls).toEqual([]);
  });

  /**
   * A request of HTTP/2 as bytes (RFC 9113 §4.1, RFC 7541 §6.2.2): Node's client sends no second
   * line of this name.
   */
  function http2Request(lines: readonly string[]): Buffer {
    const frame = (type: number, flags: number, stream: number, payload: Buffer) => {
      const head = Buffer.from([0, 0, 0, type, flags, 0, 0, 0, stream]);
      head.writeUIntBE(payload.length, 0, 3);
      return Buffer.concat([head, payload]);
    };
    const pseudo = { ':method': 'GET', ':scheme': 'http', ':path': '/', ':authority': 'x' };
    const fields = [...Object.entries(pseudo), ...lines.map((line) => ['authorization', line])];
    const literal = (text: string) => [text.length, ...Buffer.from(text)];
    const block = Buffer.from(fields.flatMap((field) => [0, ...field.flatMap(literal)]));
    // SETTINGS, and HEADERS with END_STREAM and END_HEADERS.
    return Buffer.concat([
      Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
      frame(4, 0, 0, Buffer.alloc(0)),
      frame(1, 5, 1, block),
    ]);
  }

  it('refuses two lines over HTTP/2, whose `headers` have the first alone, and reads one', async () => {
    const { keyring } = setUp();
    const { key, info } = await issue(keyring);
    const [good, other] = [bearer(key), bearer(generateKey({ prefix: 'acme' }))];
    for (const lines of [[good], [good, other], [other, good], [good, good]]) {
      const server = createHttp2Server().listen(0, '127.0.0.1');
      await once(server, 'listening');
      const compatible = once(server, 'request');
      const stream = once(server, 'stream');
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      socket.write(http2Request(lines));
      const [[request], [, headers, , rawHeaders]] = await Promise.all([compatible, stream]);
      expect([request.headers.authorization, headers.authorization]).toEqual([lines[0], lines[0]]);
      for (const given of [request, { rawHeaders }]) {
        const act = () => keyring.authenticate(given);
        if (lines.length === 1) expect((await act()).keyId).toBe(info.keyId);
        else await denied(act, 'invalid_request', 'malformed_header');
      }
      socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it.each([7, true, 10n, Symbol('x'), () => 'Bearer x'])(
    'takes %s for no credential, whatever it holds',
    async (request) => {
      const { keyring } = setUp();
      await denied(
        () => keyring.authenticate(untyped(request)),
        'invalid_request',
        'malformed_header',
      );
    },
  );
});

describe('admit', () => {
  it.each([
    ['at once', (store: ReturnType<typeof memoryStore>) => store],
    ['by promise', delayed],
  ])(
    'yields principal and entity and says so, over a store that answers %s',
    async (_how, through) => {
      const { keyring, clock, events } = setUp({ store: through(memoryStore()) });
      const { key, info } = await keyring.issue(
        { name: 'n', scopes: ['threats:read'], expiresAt: 'never', accessibleEntities: [OTHER] },
        { entityUuid: OWN, entities: [OTHER] },
      );
      events.length = 0;
      clock.advance(HOUR);
      const admitted = await keyring.admit(bearer(key), {
        policy,
        operation: 'list',
        entityUuid: [OTHER],
      });
      expect(Object.keys(admitted)).toEqual(['principal', 'entityUuid']);
      expect(admitted.entityUuid).toBe(OTHER);
      expect(hasScopes(admitted.principal, 'threats:read')).toBe(true);
      expect((await keyring.admit(bearer(key), { policy, operation: 'whoami' })).entityUuid).toBe(
        OWN,
      );
      const granted = { type: 'access.granted', time: START + HOUR, keyId: info.keyId };
      expect(events).toEqual([
        { ...granted, entityUuid: OTHER, operation: 'list' },
        { ...granted, entityUuid: OWN, operation: 'whoami' },
      ]);
    },
  );

  it('tells every denial by code and reason, and the key where one was recognised', async () => {
    const { keyring, clock, events } = setUp();
    const { key, info } = await issue(keyring);
    const gone = await issue(keyring);
    await keyring.revoke(gone.info.keyId, AUTHORITY);
    events.length = 0;
    clock.advance(1);
    const unknown = bearer(generateKey({ prefix: 'acme' }));
    const denials = [
      [undefined, 'list', undefined, 'missing_credentials', 'no_header', null],
      ['Basic x', 'list', undefined, 'missing_credentials', 'other_scheme', null],
      ['Bearer', 'list', OWN, 'invalid_request', 'malformed_header', null],
      ['Bearer x', 'list', OWN, 'invalid_token', 'malformed_key', null],
      [unknown, 'list', OTHER, 'invalid_token', 'unknown_key', null],
      [bearer(gone.key), 'list', undefined, 'invalid_token', 'revoked', gone.info.keyId],
      [bearer(key), 'remove', OTHER, 'insufficient_scope', 'scope_missing', info.keyId],
      [bearer(key), 'list', OTHER, 'entity_forbidden', 'entity_not_accessible', info.keyId],
      [bearer(key), 'list', [OWN, OTHER], 'invalid_request', 'malformed_entity', info.keyId],
      [bearer(key), 'list', 'no uuid\r\n\u001b', 'invalid_request', 'malformed_entity', info.keyId],
    ] as const;
    const told: KeyringEvent[] = [];
    const time = expect.any(Number) as unknown as number;
    for (const [request, operation, entityUuid, code, reason, keyId] of denials) {
      await denied(() => keyring.admit(request, { policy, operation, entityUuid }), code, reason);
      const entity = entityUuid === OWN || entityUuid === OTHER ? entityUuid : null;
      told.push({
        type: 'access.denied',
        time,
        keyId,
        entityUuid: entity,
        operation,
        code,
        reason,
      });
    }
    expect(events).toEqual(told);
  });

  // Adapters pass the list of values that a parameter had: with none of them, the entity of a
  // denial was missing.
  it("tells a denial without an entity on the key's own", async () => {
    const { keyring, events } = setUp();
    const { key } = await issue(keyring);
    for (const entityUuid of [undefined, null, [], [undefined]]) {
      events.length = 0;
      const act = () => keyring.admit(bearer(key), { policy, operation: 'remove', entityUuid });
      await denied(act, 'insufficient_scope', 'scope_missing');
      expect(events).toMatchObject([
        { type: 'access.denied', entityUuid: OWN, code: 'insufficient_scope' },
      ]);
    }
  });

  it('tells a broken store as one, without a key', async () => {
    const store = wrap(memoryStore(), () => {
      throw new Error('down');
    });
    const { keyring, events } = setUp({ store });
    const act = () =>
      keyring.admit(bearer(generateKey({ prefix: 'acme' })), {
        policy,
        operation: 'list',
        entityUuid: OWN,
      });
    await storeError(act);
    const what = { code: 'store_error', reason: 'store_error' } as const;
    expect(events).toEqual([
      {
        type: 'access.denied',
        time: expect.any(Number),
        keyId: null,
        entityUuid: OWN,
        operation: 'list',
        ...what,
      },
    ]);
  });

  it('decides the same whatever its listener does', async () => {
    const listeners: readonly (() => unknown)[] = [
      () => {
        throw new Error('sink');
      },
      () => Promise.reject(new Error('sink')),
      () =>
        thenable(() => {
          throw new Error('sink');
        }),
      () => thenable((_, reject) => reject(new Error('sink'))),
      () => new Promise(() => {}),
      async () => 7,
      () => null,
    ];
    for (const onEvent of listeners) {
      const { keyring } = setUp({ onEvent });
      const { key, info } = await issue(keyring);
      await keyring.admit(bearer(key), { policy, operation: 'list' });
      await denied(
        () => keyring.admit(bearer(key), { policy, operation: 'remove' }),
        'insufficient_scope',
        'scope_missing',
      );
      const next = await keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
      await keyring.revoke(next.info.keyId, AUTHORITY);
      await denied(
        () => keyring.admit(bearer(key), { policy, operation: 'list' }),
        'invalid_token',
        'retired',
      );
    }
    // An unhandled rejection would fail this run by itself; give it the turn it needs to show.
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('hands the listener a frozen event: it cannot rewrite what the next one reads', async () => {
    const thrownBy: unknown[] = [];
    const onEvent = (event: KeyringEvent) => {
      try {
        Object.assign(event, { keyId: NOWHERE });
      } catch (error) {
        thrownBy.push(error);
      }
    };
    await issue(setUp({ onEvent }).keyring);
    expect(thrownBy).toEqual([expect.any(TypeError)]);
  });

  it.each([
    [undefined, /TypeError|admit/],
    [{ policy, operation: 'lists' }, /"lists" is not in the table/],
    [{ policy, operation: '__proto__' }, /not in the table/],
    [{ policy, operation: undefined }, /not in the table/],
    [{ policy }, /not in the table/],
    [{ policy, operation: 'list', entityuuid: OTHER }, /unknown field "entityuuid"/],
    [{ policy, operation: 'list', principal: {} }, /unknown field "principal"/],
  ])(
    'of bad input is a caller’s bug, case %#, before anybody is looked up, and no event',
    async (input, message) => {
      const { store, calls } = recording(memoryStore());
      const { keyring, events } = setUp({ store });
      const { key } = await issue(keyring);
      calls.length = events.length = 0;
      const error = await thrown(() =>
        keyring.admit(bearer(key), untyped<{ policy: typeof policy; operation: 'list' }>(input)),
      );
      expect(error).toBeInstanceOf(TypeError);
      expect(String(error)).toMatch(message);
      expect({ calls, events }).toEqual({ calls: [], events: [] });
    },
  );

  it('works off the object: no method needs `this`', async () => {
    const {
      issue: make,
      admit,
      verify,
      authenticate,
      flush,
      revoke,
      rotate,
      list,
      get,
    } = setUp().keyring;
    const { key, info } = await make(
      { name: 'n', scopes: ['threats:read'], expiresAt: 'never' },
      AUTHORITY,
    );
    await admit(bearer(key), { policy, operation: 'list' });
    await authenticate(bearer(key));
    await verify(key);
    await flush();
    await get(info.keyId, AUTHORITY);
    await list({}, AUTHORITY);
    const next = await rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
    await revoke(next.info.keyId, AUTHORITY);
  });
});

describe('tokens at the same door', () => {
  /**
   * A verifier of tokens that look like `a.<key>`: its principal is the key's own, as `claims` has
   * edited it. Peppers 'none', so that the edited row is taken for genuine, as a token's claims
   * would be.
   */
  async function door(claims: Partial<KeyRecord>, options: { checkParent?: boolean } = {}) {
    // A token knows nothing of what became of its key.
    const unended = { revokedAt: null, retireAt: null };
    const store = memoryStore();
    const parent = setUp({ store, peppers: 'none' });
    const { key, info } = await parent.keyring.issue(
      {
        name: 'parent',
        scopes: ['threats:read', 'threats:write', 'decoys:read'],
        expiresAt: new Date(START + 9 * HOUR),
        accessibleEntities: [OTHER],
        metadata: { a: '1' },
      },
      { entityUuid: OWN, entities: [OTHER] },
    );
    const claimed = setUp({
      store: tampering(store, (row) => ({ ...row, ...unended, ...claims })),
      peppers: 'none',
    });
    const seen: string[] = [];
    const tokens: TokenVerifier = {
      verify: (token) => {
        seen.push(token);
        return claimed.keyring.verify(token.slice(token.indexOf('.') + 1));
      },
    };
    const { store: watched, calls } = recording(store);
    const front = setUp({
      store: watched,
      peppers: 'none',
      tokens,
      ...options,
      now: parent.clock.now,
    });
    return {
      ...front,
      parent: parent.keyring,
      clock: parent.clock,
      key,
      info,
      token: bearer(`a.${key}`),
      calls,
      seen,
    };
  }

  it('hands on what is no denial as it is, and reports no denial', async () => {
    const tokens = { verify: () => Promise.reject(new RangeError('a bug in the verifier')) };
    const { keyring, events } = setUp({ tokens });
    const error = await thrown(() => keyring.admit('Bearer a.b', { policy, operation: 'list' }));
    expect(error).toBeInstanceOf(RangeError);
    expect(events).toEqual([]);
  });

  it('never expires where neither the token nor its key does', async () => {
    const store = memoryStore();
    const { keyring } = setUp({ store, peppers: 'none' });
    const { key } = await keyring.issue(
      { name: 'n', scopes: [], expiresAt: 'never' },
      { entityUuid: OWN },
    );
    const front = setUp({ store, peppers: 'none', tokens: { verify: () => keyring.verify(key) } });
    expect((await front.keyring.authenticate('Bearer a.b')).expiresAt).toBeNull();
  });

  it('tells keys and tokens apart by shape alone', async () => {
    const { keyring, key, token, seen, info } = await door({});
    expect((await keyring.authenticate(bearer(key))).via).toBe('key');
    expect(seen).toEqual([]);
    const principal = await keyring.authenticate(token);
    expect(seen).toEqual([`a.${key}`]);
    expect({ ...principal }).toEqual({
      keyId: info.keyId,
      name: 'parent',
      entityUuid: OWN,
      accessibleEntities: [OWN, OTHER],
      scopes: ['threats:read', 'threats:write', 'decoys:read'],
      metadata: { a: '1' },
      expiresAt: START + 9 * HOUR,
      via: 'jwt',
    });
    expect(Object.isFrozen(principal.scopes) && Object.isFrozen(principal.accessibleEntities)).toBe(
      true,
    );
  });

  it('without a verifier a token is a malformed key', async () => {
    const { store, calls } = recording(memoryStore());
    const { keyring } = setUp({ store });
    const act = () => keyring.authenticate('Bearer eyJhbGciOiJub25lIn0.e30.');
    await denied(act, 'invalid_token', 'malformed_key');
    expect(calls).toEqual([]);
  });

  it('verify takes keys alone: a token comes in by its header only', async () => {
    const { keyring, key, seen } = await door({});
    await denied(() => keyring.verify(`a.${key}`), 'invalid_token', 'malformed_key');
    expect(seen).toEqual([]);
  });

  it('grants what token and parent both hold, never more than either', async () => {
    const scope = fc.subarray([...catalog.all]);
    const entity = fc.subarray([OTHER, THIRD, NOWHERE]);
    await fc.assert(
      fc.asyncProperty(scope, entity, async (scopes, entities) => {
        const { keyring, parent, key, token } = await door({
          scopes,
          accessibleEntities: [OWN, ...entities],
        });
        const own = await parent.verify(key);
        const principal = await keyring.authenticate(token);
        expect(principal.scopes).toEqual(
          own.scopes.filter((s) => scopes.includes(s as 'threats:read')),
        );
        expect(principal.accessibleEntities).toEqual(
          entities.includes(OTHER) ? [OWN, OTHER] : [OWN],
        );
        for (const s of catalog.all) {
          expect(hasScopes(principal, s)).toBe(hasScopes(own, s) && scopes.includes(s));
        }
        const { entityUuid } = await keyring.admit(token, {
          policy,
          operation: 'whoami',
          entityUuid: OWN,
        });
        expect(entityUuid).toBe(OWN);
      }),
      { numRuns: runs(100) },
    );
  });

  it('refuses a token whose parent would not authenticate', async () => {
    const revoked = await door({});
    await revoked.keyring.authenticate(revoked.token);
    await revoked.parent.revoke(revoked.info.keyId, AUTHORITY);
    const error = await denied(
      () => revoked.keyring.authenticate(revoked.token),
      'invalid_token',
      'revoked',
    );
    expect(error.keyId).toBe(revoked.info.keyId);

    const retired = await door({});
    await retired.parent.rotate(
      retired.info.keyId,
      { overlapMs: HOUR },
      { entityUuid: OWN, entities: [OTHER] },
    );
    await retired.keyring.authenticate(retired.token);
    retired.clock.advance(HOUR);
    await denied(() => retired.keyring.authenticate(retired.token), 'invalid_token', 'retired');

    const expired = await door({ expiresAt: null });
    expired.clock.set(START + 9 * HOUR);
    await denied(() => expired.keyring.authenticate(expired.token), 'invalid_token', 'expired');

    const unknown = await door({ keyId: NOWHERE });
    await denied(() => unknown.keyring.authenticate(unknown.token), 'invalid_token', 'unknown_key');

    const foreign = await door({ entityUuid: OTHER });
    await denied(() => foreign.keyring.authenticate(foreign.token), 'invalid_token', 'unknown_key');
  });

  it('looks the parent up once, and not at all without checkParent', async () => {
    const checked = await door({ scopes: ['threats:read'] });
    await checked.keyring.authenticate(checked.token);
    expect(checked.calls).toEqual(['findById']);
    const trusting = await door({ scopes: ['threats:read'] }, { checkParent: false });
    const principal = await trusting.keyring.authenticate(trusting.token);
    expect(trusting.calls).toEqual([]);
    expect(principal.scopes).toEqual(['threats:read']);
    await trusting.parent.revoke(trusting.info.keyId, AUTHORITY);
    // The price of not asking, until the token expires.
    await trusting.keyring.authenticate(trusting.token);
  });

  it('passes the verifier’s refusal on, and a broken store as one', async () => {
    const refusal = new AccessError('invalid_token', 'token_refused');
    for (const verify of [
      () => Promise.reject(refusal),
      () => {
        throw refusal;
      },
    ]) {
      const { keyring, events } = setUp({ tokens: { verify } });
      expect(await thrown(() => keyring.authenticate('Bearer a.b.c'))).toBe(refusal);
      await thrown(() => keyring.admit('Bearer a.b.c', { policy, operation: 'whoami' }));
      expect(events).toMatchObject([{ code: 'invalid_token', reason: 'token_refused' }]);
    }
    const store = memoryStore();
    const { key } = await issue(setUp({ store }).keyring);
    const tokens = { verify: () => setUp({ store }).keyring.verify(key) };
    const down = wrap(store, () => Promise.reject(new Error('down')));
    await storeError(() => setUp({ store: down, tokens }).keyring.authenticate('Bearer a.b.c'));
  });

  const claims = {
    keyId: NOWHERE,
    name: 'n',
    entityUuid: OWN,
    accessibleEntities: [OWN],
    scopes: ['threats:read'],
    metadata: {},
    expiresAt: START + HOUR,
    via: 'jwt',
  };

  it('takes the claims of any verifier without a parent check, and copies them', async () => {
    const scopes = ['threats:read'];
    const tokens = { verify: async () => untyped<Principal>({ ...claims, scopes }) };
    const { keyring } = setUp({ tokens, checkParent: false });
    const { principal } = await keyring.admit('Bearer a.b', { policy, operation: 'list' });
    scopes.push('threats:write');
    expect(principal).toMatchObject(claims);
    await denied(
      () => keyring.admit('Bearer a.b', { policy, operation: 'remove' }),
      'insufficient_scope',
      'scope_missing',
    );
  });

  it.each([
    [{ ...claims, scopes: ['*:*'] }],
    [{ ...claims, scopes: ['threats:*'] }],
    [{ ...claims, scopes: [7] }],
    [{ ...claims, keyId: { $ne: 1 } }],
    [{ ...claims, entityUuid: 'x' }],
    [{ ...claims, accessibleEntities: ['x'] }],
    [{}],
    [null],
    [undefined],
    [true],
  ])('refuses a token with malformed claims: %j', async (answer) => {
    for (const checkParent of [true, false]) {
      const { keyring } = setUp({
        tokens: { verify: async () => untyped<Principal>(answer) },
        checkParent,
      });
      await denied(() => keyring.authenticate('Bearer a.b'), 'invalid_token', 'token_refused');
    }
  });
});
