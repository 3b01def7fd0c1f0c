/** The forms of the console: where they come from, and how they arrive. */
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createConsole } from '../../examples/console/app.ts';
import { createServer, serviceOf } from '../../examples/console/server.ts';
import type { Accounts, Member } from '../../examples/platform/host/accounts.ts';
import { ENTITY, type Platform } from '../../examples/platform/host/boot.ts';
import { listen, stop } from '../../examples/platform/host/listen.ts';
import {
  connectionFrom,
  cookieOf,
  formBody,
  KEYS,
  onceOf,
  PASSWORD,
  useSite,
  WHOLE,
} from './console-site.ts';

const site = useSite();

const FORM = 'application/x-www-form-urlencoded';

describe('a form', () => {
  it('is one that the console sends, and nothing of another type', async () => {
    const cookie = await site.signIn('ana@example.com');
    const keyId = await site.issue();
    for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x', '']) {
      const headers = { Cookie: cookie, Origin: site.origin, 'Content-Type': type };
      const init = { method: 'POST', body: 'action=revoke', headers };
      const answer = await site.send(`${KEYS}/${keyId}`, init);
      expect(answer.status, type).toBe(415);
    }
    const info = await site.infoOf(keyId);
    expect(info.revokedAt).toBeNull();
  });

  it('is not taken from another site', async () => {
    const cookie = await site.signIn('ana@example.com');
    const before = await site.countOf();
    const once = onceOf(await site.get(`${KEYS}/new`, cookie));
    const forms = [
      { path: KEYS, fields: { once, ...WHOLE } },
      { path: '/sign-in', fields: { email: 'ana@example.com', password: PASSWORD } },
    ];
    const origins: Record<string, string>[] = [
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { 'Sec-Fetch-Site': 'same-site', Origin: '' },
    ];
    for (const headers of origins) {
      for (const { path, fields } of forms)
        expect((await site.post(path, fields, cookie, headers)).status).toBe(403);
    }
    expect(await site.countOf()).toBe(before);
  });

  it('is 413 where it is more than a form can be', async () => {
    const { status, headers, text } = await site.post('/sign-in', { email: 'x'.repeat(70_000) });
    expect([status, headers.get('Cache-Control')]).toEqual([413, 'no-store']);
    expect(text).toContain('This is more than a form can be.');
  });
});

/** How the length of a body is told: before it, or not at all. */
const FRAMINGS = [
  (length: number) => ({ 'Content-Type': FORM, 'Content-Length': String(length) }),
  () => ({ 'Content-Type': FORM, 'Transfer-Encoding': 'chunked' }),
];
type Framing = (typeof FRAMINGS)[number];

/** A body whose second half comes after `meanwhile`, which begins once the first was read. */
function slowly(text: string, meanwhile: () => unknown): ReadableStream<Uint8Array> {
  const half = text.length / 2;
  const encoder = new TextEncoder();
  const parts = [text.slice(0, half), text.slice(half)];
  let isFirst = true;
  return new ReadableStream(
    {
      async pull(controller) {
        if (!isFirst) await meanwhile();
        isFirst = false;
        controller.enqueue(encoder.encode(parts.shift()));
        if (parts.length === 0) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

/** A console that is asked in this process, from one address. */
function consoleWith(platform: Platform) {
  const app = createConsole(serviceOf(platform));
  const request = async (path: string, init: RequestInit = {}) =>
    app.request(`${site.origin}/console${path}`, init, connectionFrom('a'));
  return {
    request,
    /** Sends a form of this length as a stream. */
    stream(
      path: string,
      body: ReadableStream,
      framing: Framing,
      length: number,
      headers: Record<string, string> = {},
    ) {
      const all = { ...framing(length), Origin: site.origin, ...headers };
      const init = { method: 'POST', body, headers: all, duplex: 'half' };
      return request(path, init as RequestInit);
    },
  };
}

// A form was judged by who had begun to send it: one who was deleted in between still made a key,
// or ended one.
describe('a form that is long on its way', () => {
  const admin: Member = {
    user: { id: 'x', created_at: '', email: 'x', name: 'Ana', role: 'admin' },
    entityUuid: ENTITY,
    authority: { entityUuid: ENTITY, scopes: ['*:*'] },
  };

  it.each([
    { what: 'deleted, or has another password', later: null, status: 303 },
    { what: 'given a role that only looks on', later: { ...admin, authority: null }, status: 403 },
  ])('does nothing where who sends it is $what meanwhile', async ({ later, status }) => {
    let member: Member | null = admin;
    const accounts: Accounts = {
      ...site.platform.accounts,
      find: () => member,
      signIn: async () => ({ entityUuid: ENTITY, userId: 'x', version: '' }),
    };
    const { request, stream } = consoleWith({ ...site.platform, accounts });
    const init = { method: 'POST', body: formBody({}), headers: { Origin: site.origin } };
    const Cookie = cookieOf(await request('/sign-in', init));
    const keyId = await site.issue();
    const before = await site.countOf();
    const forms = [
      { path: KEYS, fields: WHOLE },
      { path: `${KEYS}/${keyId}`, fields: { action: 'rotate', overlap: '0' } },
      { path: `${KEYS}/${keyId}`, fields: { action: 'revoke' } },
    ];
    for (const framing of FRAMINGS) {
      for (const { path, fields } of forms) {
        member = admin;
        const page = await request(`${KEYS}/new`, { headers: { Cookie } });
        const once = onceOf({ text: await page.text() });
        const text = formBody({ once, ...fields }).toString();
        const body = slowly(text, () => {
          member = later;
        });
        const answer = await stream(path, body, framing, text.length, { Cookie });
        expect({ path, fields, status: answer.status }).toEqual({ path, fields, status });
      }
    }
    expect(await site.countOf()).toBe(before);
    const info = await site.infoOf(keyId);
    expect(info).toMatchObject({ revokedAt: null, retireAt: null });
  });

  it('is taken from who is still the same', async () => {
    const { stream } = consoleWith(site.platform);
    for (const framing of FRAMINGS) {
      const text = formBody({ email: 'ana@example.com', password: PASSWORD }).toString();
      const body = slowly(text, () => {});
      expect((await stream('/sign-in', body, framing, text.length)).status).toBe(303);
    }
  });
});

// It was told to the service as an error of its own, by anybody and without a session.
describe('a form that ends before its time', () => {
  it('is 400, which is no error of the service', async () => {
    const reported: unknown[] = [];
    const report = (error: unknown) => reported.push(error);
    const { stream } = consoleWith({ ...site.platform, report } as Platform);
    for (const framing of FRAMINGS) {
      const body = slowly('email=ana', () => Promise.reject(new Error('aborted')));
      const answer = await stream('/sign-in', body, framing, 50);
      expect(answer.status).toBe(400);
      expect(await answer.text()).toContain('did not arrive');
    }
    expect(reported).toEqual([]);
  });

  it('is no error of the service either where the connection is cut', async () => {
    const reported: unknown[] = [];
    const report = (error: unknown) => reported.push(error);
    const server = createServer({ ...site.platform, report } as Platform);
    const { host, port, hostname, origin } = new URL(await listen(server, 0));
    const lines = [
      'POST /console/sign-in HTTP/1.1',
      `Host: ${host}`,
      `Origin: ${origin}`,
      `Content-Type: ${FORM}`,
    ];
    for (const rest of [
      'Content-Length: 50\r\n\r\nhello',
      'Transfer-Encoding: chunked\r\n\r\n5\r\nhello',
    ]) {
      const arrived = new Promise<IncomingMessage>((resolve) => server.once('request', resolve));
      const socket = connect(Number(port), hostname);
      socket.write(`${lines.join('\r\n')}\r\n${rest}`);
      const request = await arrived;
      const closed = new Promise((resolve) => request.once('close', resolve));
      socket.destroy();
      await closed;
      // Whoever comes next is answered after the end of the form was noticed.
      expect((await site.send('/sign-in', {}, origin)).status).toBe(200);
    }
    await stop(server);
    expect(reported).toEqual([]);
  });
});
