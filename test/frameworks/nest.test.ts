/** The example for Nest, on both versions: its denials, a session or a key, and its lock. */
import { createRequire } from 'node:module';
import { routesOf } from 'keyscope/lock';
import { afterEach, describe, expect, test } from 'vitest';
import { describeInstalled } from './installed.ts';

type Service = typeof import('./nest-session.ts');

const OWN = 'aaaaaaaa-0000-4000-8000-00000000000a';
const COPIES = { 12: './nest-session.ts', 11: './nest-11/.project/nest-session.ts' } as const;

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const load = async (version: keyof typeof COPIES) =>
  (await import(/* @vite-ignore */ COPIES[version])) as Service;

async function start(
  version: keyof typeof COPIES,
  ...[platform, filter]: Parameters<Service['createApp']>
) {
  const { createApp, keyring } = await load(version);
  const { app, seen } = await createApp(platform, filter);
  closers.push(() => app.close());
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const input = { name: 'test', scopes: ['projects:read'], expiresAt: 'never' } as const;
  const { key } = await keyring.issue(input, { entityId: OWN, scopes: 'all' });
  const ask = async (headers: Record<string, string>) => {
    const response = await fetch(`${url}/projects`, { headers });
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
  return { ask, key, seen };
}

const VERSIONS = [12, 11] as const;
const PLATFORMS = ['express', 'fastify'] as const;
const EVERY = VERSIONS.flatMap((version) => PLATFORMS.map((name) => [version, name] as const));
const SESSION = { Cookie: 'sid=good' };

describeInstalled('the example for Nest', () => {
  test.each(VERSIONS)('runs on version %s here', (version) => {
    const { url } = import.meta;
    const at = new URL(COPIES[version], url);
    const { version: found } = createRequire(at)('@nestjs/core/package.json') as {
      version: string;
    };
    expect(found).toMatch(new RegExp(`^${version}\\.`));
  });

  describe.each(EVERY)('version %s on %s', (version, platform) => {
    test('lets in a session without a key, and a key without a session', async () => {
      const { OF_SESSION } = await load(version);
      const { ask, key } = await start(version, platform, 'own');
      expect(await ask(SESSION)).toMatchObject({ status: 200, body: { entityId: OF_SESSION } });
      const byKey = { Authorization: `Bearer ${key}` };
      expect(await ask(byKey)).toMatchObject({ status: 200, body: { entityId: OWN } });
      expect(await ask({})).toMatchObject({ status: 401, body: { message: 'Sign in.' } });
    });

    // A session guard that lets public routes through let everyone in, with no organization.
    test('fails if the session guard lets in someone without an organization', async () => {
      const { ask } = await start(version, platform, 'own');
      expect(await ask({ Cookie: 'sid=public' })).toMatchObject({ status: 500 });
    });

    test('lets the key alone decide where there is an Authorization header', async () => {
      const { ask, key } = await start(version, platform, 'own');
      const withKey = { ...SESSION, Authorization: `Bearer ${key}` };
      expect(await ask(withKey)).toMatchObject({ status: 200, body: { entityId: OWN } });
      const wrong = [`Bearer ${key}x`, `Bearer ${key}, Bearer ${key}`, 'Basic YTpi', 'Bearer', ''];
      const statuses: number[] = [];
      for (const value of wrong) {
        statuses.push((await ask({ ...SESSION, Authorization: value })).status);
      }
      expect(statuses).toEqual([401, 400, 401, 400, 400]);
    });

    test.each(['own', 'all'] as const)('answers a denial by the filter: %s', async (filter) => {
      const { ask, key, seen } = await start(version, platform, filter);
      const { status, headers, body } = await ask({ Authorization: `Bearer ${key}x` });
      expect({ status, body }).toMatchObject({
        status: 401,
        body: { type: 'about:blank', status: 401, error: 'invalid_token' },
      });
      expect(headers.get('WWW-Authenticate')).toContain('error="invalid_token"');
      expect(headers.get('Cache-Control')).toBe('no-store');
      // On Express, the own filter of Nest 11 replaces the type.
      const isReplaced = version === 11 && platform === 'express' && filter === 'own';
      const type = isReplaced ? 'application/json' : 'application/problem+json';
      expect(headers.get('Content-Type')).toBe(`${type}; charset=utf-8`);
      const message = 'The credential is not valid: it may be mistyped, revoked or expired.';
      expect(seen).toMatchObject(
        filter === 'own' ? [] : [{ status: 401, message, cause: { code: 'invalid_token' } }],
      );
    });
  });

  test.each(EVERY)('lists its routes for the lock: version %s on %s', async (version, platform) => {
    const { createApp, tableOf } = await load(version);
    const { app } = await createApp(platform, 'own');
    closers.push(() => app.close());
    app.setGlobalPrefix('v1');
    await app.init();
    const guarded = { operations: ['listProjects'] };
    const routes = routesOf(tableOf(app, 'v1'));
    expect(routes).toEqual([
      { method: 'GET', path: '/v1/a/:id', ...guarded },
      { method: 'GET', path: '/v1/b/:id', ...guarded },
      { method: 'GET', path: '/v1/inherited/:id', ...guarded },
      { method: 'GET', path: '/v1/projects', ...guarded, also: ['people with a session'] },
      { method: 'POST', path: '/v1/projects', ...guarded },
      { method: 'ALL', path: '/v1/projects/bare', operations: [] },
      { method: 'POST', path: '/v1/projects/import', ...guarded },
      { method: 'GET', path: '/v1/projects/late', operations: [], behind: ['listProjects'] },
    ]);
    if (platform === 'fastify') return;
    // Every route that Express has, and none that it lacks.
    const served = routesOf(app.getHttpAdapter().getInstance());
    const namesOf = (list: typeof routes) => list.map(({ method, path }) => `${method} ${path}`);
    const isRoute = ({ path }: { path: string }) => path.startsWith('/v1/');
    expect(namesOf(served.filter(isRoute))).toEqual(namesOf(routes));
  });

  test.each(VERSIONS)('refuses a table that would lack a route: version %s', async (version) => {
    const { createApp, tableOf } = await load(version);
    for (const [module, message] of [
      ['twice', 'GET /projects exists twice. Write a table of your own'],
      ['versions', 'list has a version. Write a table of your own'],
    ] as const) {
      const { app } = await createApp('express', module);
      closers.push(() => app.close());
      expect(() => tableOf(app)).toThrow(new TypeError(message));
    }
  });
});
