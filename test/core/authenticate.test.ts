import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, connect, Socket } from 'node:net';
import { Hono } from 'hono';
import { definePolicy, generateKey, type RequestLike } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { catalog, denied, issue, recording, setUp, untyped } from '../support/keyring.ts';

const policy = definePolicy(catalog, {
  whoami: [],
  list: ['threats:read'],
  remove: ['threats:delete'],
});

const bearer = (key: string) => `Bearer ${key}`;

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
