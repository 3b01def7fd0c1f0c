/** Signing in to the console: whom it knows, and how long. */
import { scryptSync } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { createConsole } from '../../examples/console/app.ts';
import { serviceOf } from '../../examples/console/server.ts';
import { createAccounts } from '../../examples/platform/host/accounts.ts';
import { ENTITY, OTHER_ENTITY } from '../../examples/platform/host/boot.ts';
import { createDomain } from '../../examples/platform/service/domain.ts';
import {
  connectionFrom,
  cookieOf,
  formBody,
  KEYS,
  PASSWORD,
  useSite,
  WHOLE,
} from './console-site.ts';

const site = useSite();

describe('signing in', () => {
  it('leads from every address to the sign-in, and does nothing on the way', async () => {
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

  it('says the same of a wrong password and of an address that nobody has', async () => {
    const answers = [
      await site.enter('ana@example.com', 'wrong'),
      await site.enter('nobody@example.com'),
    ];
    const [wrong, unknown] = answers.map(({ text }) => text.replace(/value="[^"]*@[^"]*"/, ''));
    expect(answers.map(({ status }) => status)).toEqual([401, 401]);
    expect(wrong).toBe(unknown);
    expect(answers.map(({ headers }) => headers.get('Set-Cookie'))).toEqual([null, null]);
  });

  it('gives a cookie that scripts and other sites do not get, anew at each sign-in', async () => {
    const pages = [await site.enter('ana@example.com'), await site.enter('ana@example.com')];
    const cookies = pages.map(({ headers }) => String(headers.get('Set-Cookie')));
    for (const cookie of cookies) {
      expect(cookie).toMatch(
        /^session=[\w-]{43}; Max-Age=28800; Path=\/console; HttpOnly; SameSite=Strict$/,
      );
    }
    expect(cookies[0]).not.toBe(cookies[1]);
  });

  // Another host of the same domain could set the cookie, and a visitor made keys in a session of
  // somebody else.
  it('has a cookie of its host and for TLS alone where the service is reached by it', async () => {
    const publicUrl = 'https://deception.example';
    const app = createConsole({ ...serviceOf(site.platform), publicUrl });
    const ask = async (path: string, init: RequestInit) =>
      app.request(`/console${path}`, init, connectionFrom('192.0.2.1'));
    const body = formBody({ email: 'ana@example.com', password: PASSWORD });
    const headers = { Origin: 'https://deception.example' };
    const entered = await ask('/sign-in', { method: 'POST', body, headers });
    expect(entered.headers.get('Set-Cookie')).toMatch(
      /^__Host-session=[\w-]{43}; Max-Age=28800; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    const own = cookieOf(entered);
    const statusWith = async (Cookie: string) => (await ask('', { headers: { Cookie } })).status;
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

  it('ends a session at sign-out, not only in the browser', async () => {
    const cookie = await site.signIn('ana@example.com');
    expect((await site.get('', cookie)).status).toBe(200);
    expect((await site.post('/sign-out', {}, cookie)).status).toBe(303);
    expect((await site.get('', cookie)).status).toBe(303);
  });

  it('ends a session after eight hours', async () => {
    const cookie = await site.signIn('ana@example.com');
    site.clock.ahead = 8 * 3_600_000 - 60_000;
    expect((await site.get('', cookie)).status).toBe(200);
    site.clock.ahead = 8 * 3_600_000 + 60_000;
    expect((await site.get('', cookie)).status).toBe(303);
  });

  it('ends the sessions of a user who is deleted', async () => {
    const { domain, accounts } = site.platform;
    const eve = domain.createUser(ENTITY, { email: 'eve@example.com', name: 'Eve', role: 'admin' });
    await accounts.setPassword({ entityUuid: ENTITY, userId: eve.id }, PASSWORD);
    const cookie = await site.signIn('eve@example.com');
    expect((await site.get(KEYS, cookie)).status).toBe(200);
    domain.deleteUser(ENTITY, eve.id);
    expect((await site.get(KEYS, cookie)).status).toBe(303);
    expect((await site.enter('eve@example.com')).status).toBe(401);
  });

  it('ends sessions with their password, and a browser’s own at its next sign-in', async () => {
    const { domain, accounts } = site.platform;
    const { id } = domain.createUser(ENTITY, {
      email: 'flo@example.com',
      name: 'Flo',
      role: 'viewer',
    });
    await accounts.setPassword({ entityUuid: ENTITY, userId: id }, PASSWORD);
    const first = await site.signIn('flo@example.com');
    const second = await site.post(
      '/sign-in',
      { email: 'flo@example.com', password: PASSWORD },
      first,
    );
    const cookie = cookieOf(second);
    expect([(await site.get('', first)).status, (await site.get('', cookie)).status]).toEqual([
      303, 200,
    ]);
    await accounts.setPassword({ entityUuid: ENTITY, userId: id }, `${PASSWORD}!`);
    expect((await site.get('', cookie)).status).toBe(303);
  });

  it('knows one user by an email, and one who is deleted is in nobody’s way', async () => {
    const { domain, accounts } = site.platform;
    const create = (entityUuid: string) => {
      const { id } = domain.createUser(entityUuid, {
        email: 'gus@example.com',
        name: 'Gus',
        role: 'viewer',
      });
      return { entityUuid, userId: id };
    };
    const gus = create(ENTITY);
    const namesake = create(OTHER_ENTITY);
    await accounts.setPassword(gus, PASSWORD);
    await expect(accounts.setPassword(namesake, 'x')).rejects.toThrow(
      'Another user signs in with this email.',
    );
    expect(await accounts.signIn('gus@example.com', PASSWORD)).toMatchObject(gus);
    domain.deleteUser(ENTITY, gus.userId);
    await accounts.setPassword(namesake, 'x');
    expect(await accounts.signIn('gus@example.com', PASSWORD)).toBeNull();
    expect(await accounts.signIn('gus@example.com', 'x')).toMatchObject(namesake);
  });
});

describe('a password', () => {
  it('costs what OWASP asks for, unless a test says otherwise', async () => {
    const db = new DatabaseSync(':memory:');
    const domain = createDomain(db);
    const user = { email: 'ida@example.com', name: 'Ida', role: 'viewer' } as const;
    const { id } = domain.createUser(ENTITY, user);
    await createAccounts(db, domain).setPassword({ entityUuid: ENTITY, userId: id }, PASSWORD);
    const row = db.prepare('SELECT salt, hash FROM passwords').get();
    const { salt, hash } = row as { readonly salt: Uint8Array; readonly hash: Uint8Array };
    const cost = { N: 2 ** 15, r: 8, p: 3, maxmem: 2 ** 26 };
    expect(Buffer.from(hash)).toEqual(scryptSync(PASSWORD, salt, 32, cost));
    db.close();
  });
});
