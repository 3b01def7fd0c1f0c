/** The sign-in of the console with a link, and its sessions. */
import { describe, expect, it } from 'vitest';
import { createConsole } from '../../examples/console/app.ts';
import { createDemoLink, createServer, serviceOf } from '../../examples/console/server.ts';
import { ENTITY, openPlatform } from '../../examples/platform/host/boot.ts';
import { listen, stop } from '../../examples/platform/host/listen.ts';
import { folder } from '../support/folder.ts';
import type { Page } from './console-site.ts';
import { cookieOf, formBody, KEYS, linkIn, useSite, WHOLE } from './console-site.ts';

const site = useSite();

const QUARTER_MS = 15 * 60_000;
const NO_LINK = 'This link does not work.';

/** Opens a link as a browser does, without its button. */
const open = (link: string): Promise<Page> => site.get(`/sign-in?link=${link}`);

const statusOf = async (cookie: string): Promise<number> => (await site.get(KEYS, cookie)).status;

/** Signs in by a link. @returns The cookie of the session. */
async function enter(cookie?: string): Promise<string> {
  const page = await site.enter(site.openLink(), cookie);
  expect([page.status, page.headers.get('Location')]).toEqual([303, '/console']);
  return cookieOf(page);
}

describe('a request without a session', () => {
  it('is redirected to the sign-in from every address, and changes nothing', async () => {
    const before = await site.countOf();
    const keys = [KEYS, `${KEYS}/new`, `${KEYS}/${ENTITY}`];
    for (const path of ['', '/settings', '/settings/configuration', ...keys, '/none']) {
      const answers = [
        await site.get(path),
        await site.get(path, 'session=guessed'),
        await site.post(path, WHOLE),
      ];
      for (const { status, headers } of answers)
        expect([path, status, headers.get('Location')]).toEqual([path, 303, '/console/sign-in']);
    }
    expect(await site.countOf()).toBe(before);
  });

  it('gets a sign-in page that says where the link is', async () => {
    const { status, text } = await site.get('/sign-in');
    expect(status).toBe(200);
    expect(text).toContain('Open the link that the demo printed when it started.');
    expect(text).not.toContain('<form');
  });
});

describe('a link', () => {
  it('signs in the admin of the demo, who may create keys', async () => {
    const { text } = await site.get(KEYS, await enter());
    expect(text).toContain('ana@example.com, admin');
    expect(text).toContain('Create API Key');
  });

  it('works once', async () => {
    const link = site.openLink();
    expect((await site.enter(link)).status).toBe(303);
    for (const page of [await site.enter(link), await open(link)]) {
      expect([page.status, page.headers.get('Set-Cookie')]).toEqual([403, null]);
      expect(page.text).toContain(NO_LINK);
      expect(page.text).toContain('To get a new link, stop the demo and start it again.');
    }
  });

  it('works once, even if several browsers send it at the same time', async () => {
    const link = site.openLink();
    const pages = await Promise.all(Array.from({ length: 8 }, () => site.enter(link)));
    expect(pages.map(({ status }) => status).sort()).toEqual([
      303, 403, 403, 403, 403, 403, 403, 403,
    ]);
  });

  // Chats that show a preview and browsers that load ahead send such requests.
  it('neither signs in nor is used up when it is only opened', async () => {
    const link = site.openLink();
    for (const method of ['GET', 'HEAD', 'GET']) {
      const page = await site.send(`/sign-in?link=${link}`, { method });
      expect([page.status, page.headers.get('Set-Cookie')]).toEqual([200, null]);
    }
    const { text } = await open(link);
    expect(text).toContain(`<input type="hidden" name="link" value="${link}">`);
    expect(text).toContain('This link signs you in as ana@example.com.');
    expect((await site.enter(link)).status).toBe(303);
  });

  it('ends after a quarter of an hour', async () => {
    const link = site.openLink();
    site.clock.ahead = QUARTER_MS - 1;
    expect((await open(link)).status).toBe(200);
    site.clock.ahead = QUARTER_MS;
    expect([(await open(link)).status, (await site.enter(link)).status]).toEqual([403, 403]);
  });

  it('consists of 256 random bits, and no other text works', async () => {
    const link = site.openLink();
    expect(link).toMatch(/^[\w-]{43}$/);
    expect(site.openLink()).not.toBe(link);
    const last = link.endsWith('A') ? 'B' : 'A';
    for (const wrong of ['', 'x', link.slice(0, -1), `${link} `, `${link.slice(0, -1)}${last}`]) {
      const pages = [await open(encodeURIComponent(wrong)), await site.enter(wrong)];
      expect(pages.map(({ status }) => status)).toEqual([403, 403]);
    }
    expect((await site.enter(link)).status).toBe(303);
  });

  it('does not work as a session, nor a session as a link', async () => {
    const link = site.openLink();
    expect(await statusOf(`session=${link}`)).toBe(303);
    const session = (await enter()).replace('session=', '');
    expect((await site.enter(session)).status).toBe(403);
  });

  it('is kept out of caches and Referer headers', async () => {
    for (const { headers } of [await open(site.openLink()), await open('wrong')]) {
      expect(headers.get('Cache-Control')).toBe('no-store');
      expect(headers.get('Referrer-Policy')).toBe('strict-origin');
    }
  });

  // The demo once looked for the admin among the ten newest users only.
  it('signs in an admin, however many users were added later', async () => {
    const files = folder();
    const platform = await openPlatform(files.file('many'));
    for (let index = 0; index < 150; index += 1) {
      const user = { email: `v${index}@example.com`, name: 'A viewer', role: 'viewer' } as const;
      platform.domain.createUser(ENTITY, user);
    }
    const signIn = createDemoLink(platform);
    const server = createServer(platform, signIn);
    const { origin } = new URL(await listen(server, 0));
    const page = await fetch(`${origin}/console/sign-in?link=${linkIn(signIn.open())}`);
    expect(page.status).toBe(200);
    await stop(server);
    await platform.close();
    files.remove();
  });

  it('stops working when its member is deleted', async () => {
    const files = folder();
    const platform = await openPlatform(files.file('deleted'));
    const signIn = createDemoLink(platform);
    const server = createServer(platform, signIn);
    const { origin } = new URL(await listen(server, 0));
    const send = (link: string) => {
      const headers = { Origin: origin };
      const init = { method: 'POST', body: formBody({ link: linkIn(link) }), headers };
      return fetch(`${origin}/console/sign-in`, { ...init, redirect: 'manual' });
    };
    const Cookie = cookieOf({ headers: (await send(signIn.open())).headers });
    const visit = async () =>
      (await fetch(`${origin}/console${KEYS}`, { headers: { Cookie }, redirect: 'manual' })).status;
    expect(await visit()).toBe(200);
    const users = platform.domain.listUsers(ENTITY, { limit: 10, after: null }).items;
    const ana = users.find(({ email }) => email === 'ana@example.com');
    platform.domain.deleteUser(ENTITY, ana?.id ?? '');
    expect([await visit(), (await send(signIn.open())).status]).toEqual([303, 403]);
    await stop(server);
    await platform.close();
    files.remove();
  });
});

describe('a session', () => {
  it('has a cookie that scripts and other sites cannot read, new at each sign-in', async () => {
    const pages = [await site.enter(site.openLink()), await site.enter(site.openLink())];
    const cookies = pages.map(({ headers }) => String(headers.get('Set-Cookie')));
    for (const cookie of cookies) {
      expect(cookie).toMatch(
        /^session=[\w-]{43}; Max-Age=28800; Path=\/console; HttpOnly; SameSite=Strict$/,
      );
    }
    expect(cookies[0]).not.toBe(cookies[1]);
  });

  // Another host of the same domain could once set the cookie, so that a visitor created keys in
  // another person's session.
  it('has a cookie for its host and TLS only, if visitors reach the service over TLS', async () => {
    const publicUrl = 'https://deception.example';
    const platform = { ...site.platform, publicUrl };
    const link = createDemoLink(platform);
    const app = createConsole(serviceOf(platform, link));
    const ask = async (path: string, init: RequestInit) => app.request(`/console${path}`, init);
    const body = formBody({ link: linkIn(link.open()) });
    const headers = { Origin: publicUrl };
    const entered = await ask('/sign-in', { method: 'POST', body, headers });
    expect(entered.headers.get('Set-Cookie')).toMatch(
      /^__Host-session=[\w-]{43}; Max-Age=28800; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    const own = cookieOf(entered);
    const statusWith = async (Cookie: string) => (await ask(KEYS, { headers: { Cookie } })).status;
    expect(await statusWith(own)).toBe(200);
    expect(await statusWith(own.replace('__Host-', ''))).toBe(303);
    const left = await ask('/sign-out', {
      method: 'POST',
      headers: { ...headers, Cookie: own },
      body: formBody({}),
    });
    expect(left.headers.get('Set-Cookie')).toBe(
      '__Host-session=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Strict',
    );
    expect(await statusWith(own)).toBe(303);
  });

  it('ends on the server at sign-out', async () => {
    const cookie = await enter();
    expect(await statusOf(cookie)).toBe(200);
    const left = await site.post('/sign-out', {}, cookie);
    expect([left.status, left.headers.get('Location')]).toEqual([303, '/console/sign-in']);
    expect(await statusOf(cookie)).toBe(303);
  });

  it('ends after eight hours', async () => {
    const cookie = await enter();
    site.clock.ahead = 8 * 3_600_000 - 1;
    expect(await statusOf(cookie)).toBe(200);
    site.clock.ahead = 8 * 3_600_000;
    expect(await statusOf(cookie)).toBe(303);
  });

  it('ends at the next sign-in of its browser, which ends no other session', async () => {
    const first = await enter();
    const other = await enter();
    const next = await enter(first);
    const statuses = [await statusOf(first), await statusOf(other), await statusOf(next)];
    expect(statuses).toEqual([303, 200, 200]);
  });
});

describe('a sign-in of the service', () => {
  it('stops admitting a user who was deleted', async () => {
    const { domain } = site.platform;
    const eve = { email: 'eve@example.com', name: 'Eve', role: 'admin' } as const;
    const { id } = domain.createUser(ENTITY, eve);
    const cookie = site.signIn(eve.email);
    expect((await site.get(`${KEYS}/new`, cookie)).status).toBe(200);
    domain.deleteUser(ENTITY, id);
    expect((await site.get(KEYS, cookie)).status).toBe(303);
  });
});
