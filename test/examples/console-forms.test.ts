/** The forms of the console: their origin, their type and their transfer. */
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { createConsole } from '../../examples/console/app.ts';
import { createDemoLink, createServer, serviceOf } from '../../examples/console/server.ts';
import type { SignIn } from '../../examples/console/service.ts';
import type { SignedIn } from '../../examples/console/visit.ts';
import { ENTITY } from '../../examples/platform/host/boot.ts';
import { listen, stop } from '../../examples/platform/host/listen.ts';
import { cookieOf, csrfOf, formBody, KEYS, linkIn, useSite, WHOLE } from './console-site.ts';

const site = useSite();

const FORM = 'application/x-www-form-urlencoded';

describe('a form', () => {
  it('is refused if it has another content type', async () => {
    const cookie = site.signIn('ana@example.com');
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

  it('is refused if another site sent it', async () => {
    const cookie = site.signIn('ana@example.com');
    const before = await site.countOf();
    const forms = [
      { path: KEYS, fields: WHOLE },
      { path: '/sign-in', fields: { link: site.openLink() } },
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

  it('is refused in another session and for another organization', async () => {
    const ana = site.signIn('ana@example.com');
    const own = csrfOf(await site.get(`${KEYS}/new`, ana));
    const keyId = await site.issue();
    const before = await site.countOf();
    const others = [site.signIn('ana@example.com'), site.signIn('dan@example.com')];
    const tokens = [csrfOf(await site.get(`${KEYS}/new`, others[0])), '', `${own}x`];
    const forms = [
      { path: KEYS, fields: WHOLE },
      ...['rotate', 'revoke', 'revoke-lineage', 'suspend', 'resume'].map((action) => ({
        path: `${KEYS}/${keyId}`,
        fields: { action, overlap: '0' },
      })),
      { path: `${KEYS}/addressing/${keyId}`, fields: {} },
    ];
    for (const { path, fields } of forms) {
      const pages = [
        ...others.map((cookie) => site.post(path, { csrf: own, ...fields }, cookie)),
        ...tokens.map((csrf) => site.post(path, { csrf, ...fields }, ana)),
      ];
      for (const { status, text } of await Promise.all(pages)) {
        expect([path, fields, status]).toEqual([path, fields, 403]);
        expect(text).toContain('You opened this form in another session');
      }
    }
    expect(await site.countOf()).toBe(before);
    expect(await site.infoOf(keyId)).toMatchObject({ state: 'live', retireAt: null });
    expect((await site.post(KEYS, { csrf: own, ...WHOLE }, ana)).status).toBe(201);
  });

  it('is refused with 413 if it is too large', async () => {
    const { status, headers, text } = await site.post('/sign-in', { link: 'x'.repeat(70_000) });
    expect([status, headers.get('Cache-Control')]).toEqual([413, 'no-store']);
    expect(text).toContain('The form is too large.');
  });
});

describe('a form that the keyring refuses', () => {
  it('is answered without the names that the keyring has for its fields', async () => {
    const ofToday = { ...admin, authority: { ...admin.authority, maxLifetimeMs: 86_400_000 } };
    const { request } = consoleWith({ whoIs: () => ofToday, serve() {} });
    const page = await request(`${KEYS}/new`);
    const body = formBody({ csrf: csrfOf({ text: await page.text() }), ...WHOLE });
    const headers = { Origin: site.origin };
    const answer = await request(KEYS, { method: 'POST', body, headers });
    const text = await answer.text();
    expect(answer.status).toBe(403);
    expect(text).toContain('You may not create a key that lives this long.');
    expect(text).not.toContain('expiresAt');
  });
});

describe('the notice after a form', () => {
  it('is shown once, on the page of the key, in the session of its sender', async () => {
    const ana = site.signIn('ana@example.com');
    const path = `${KEYS}/${await site.issue()}`;
    const words = 'Key suspended.';
    const { headers } = await site.post(path, { action: 'suspend' }, ana);
    const set = String(headers.get('Set-Cookie'));
    expect(set).toContain(`; Max-Age=60; Path=/console${path}; HttpOnly; SameSite=Strict`);
    const notice = cookieOf({ headers });
    const shown = await site.get(path, `${ana}; ${notice}`);
    expect(shown.text).toContain(words);
    expect(shown.headers.get('Set-Cookie')).toBe(`notice=; Max-Age=0; Path=/console${path}`);

    const other = site.signIn('ana@example.com');
    const forged = notice.replace('suspended', 'rotated');
    expect(forged).not.toBe(notice);
    for (const cookie of [ana, `${other}; ${notice}`, `${ana}; ${forged}`, `${ana}; notice=x`]) {
      const { status, text } = await site.get(path, cookie);
      expect([status, text.includes('class="notice"')]).toEqual([200, false]);
    }
  });
});

/** With and without the length of the body in front of it. */
const FRAMINGS = [
  (length: number) => ({ 'Content-Type': FORM, 'Content-Length': String(length) }),
  () => ({ 'Content-Type': FORM, 'Transfer-Encoding': 'chunked' }),
];
type Framing = (typeof FRAMINGS)[number];

/** A body that waits for `meanwhile` between its halves. */
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

const admin = {
  user: { email: 'ana@example.com', role: 'admin' },
  session: 'x',
  entityId: ENTITY,
  authority: { entityId: ENTITY, scopes: ['*:*'] },
} as const satisfies SignedIn;

/** A console in this process. */
function consoleWith(signIn: SignIn, report: (error: unknown) => void = () => {}) {
  const app = createConsole({ ...serviceOf(site.platform, signIn), report });
  const request = async (path: string, init: RequestInit = {}) =>
    app.request(`${site.origin}/console${path}`, init);
  return {
    request,
    /** Sends a form of this length as a stream. */
    stream(path: string, body: ReadableStream, framing: Framing, length: number) {
      const headers = { ...framing(length), Origin: site.origin };
      const init = { method: 'POST', body, headers, duplex: 'half' };
      return request(path, init as RequestInit);
    },
  };
}

// The console once checked the sender before the form had arrived: a member who was deleted in
// between could still create or revoke a key.
describe('a form that takes long to arrive', () => {
  it.each([
    { what: 'deleted, or has signed out', later: null, status: 303 },
    { what: 'given the role of a viewer', later: { ...admin, authority: null }, status: 403 },
  ])('does nothing if its sender is $what in between', async ({ later, status }) => {
    let member: SignedIn | null = admin;
    const { request, stream } = consoleWith({ whoIs: () => member, serve() {} });
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
        const page = await request(`${KEYS}/new`);
        const csrf = csrfOf({ text: await page.text() });
        const text = formBody({ csrf, ...fields }).toString();
        const body = slowly(text, () => {
          member = later;
        });
        const answer = await stream(path, body, framing, text.length);
        expect({ path, fields, status: answer.status }).toEqual({ path, fields, status });
      }
    }
    expect(await site.countOf()).toBe(before);
    const info = await site.infoOf(keyId);
    expect(info).toMatchObject({ revokedAt: null, retireAt: null });
  });

  it('is accepted if its sender has not changed', async () => {
    const link = createDemoLink(site.platform);
    const { stream } = consoleWith(link);
    for (const framing of FRAMINGS) {
      const text = formBody({ link: linkIn(link.open()) }).toString();
      const body = slowly(text, () => {});
      expect((await stream('/sign-in', body, framing, text.length)).status).toBe(303);
    }
  });
});

// The console once reported this as an error of the service, and anyone could cause it.
describe('a form that breaks off', () => {
  it('is answered with 400 and not reported', async () => {
    const reported: unknown[] = [];
    const report = (error: unknown) => reported.push(error);
    const { stream } = consoleWith(createDemoLink(site.platform), report);
    for (const framing of FRAMINGS) {
      const body = slowly('link=abcd', () => Promise.reject(new Error('aborted')));
      const answer = await stream('/sign-in', body, framing, 50);
      expect(answer.status).toBe(400);
      expect(await answer.text()).toContain('did not arrive');
    }
    expect(reported).toEqual([]);
  });

  it('is not reported if the connection is cut', async () => {
    const reported: unknown[] = [];
    const report = (error: unknown) => reported.push(error);
    const spied = vi.spyOn(console, 'error').mockImplementation(report);
    const server = createServer(site.platform);
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
      // The answer to the next request comes after the server has noticed the end of the form.
      expect((await site.send('/sign-in', {}, origin)).status).toBe(200);
    }
    await stop(server);
    spied.mockRestore();
    expect(reported).toEqual([]);
  });
});
