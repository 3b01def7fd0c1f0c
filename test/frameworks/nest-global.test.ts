/** Global guards of a Nest app let keys through on the routes that take them, and nowhere else. */
import { afterEach, expect, test } from 'vitest';
import { describeInstalled } from './installed.ts';

const OWN = 'aaaaaaaa-0000-4000-8000-00000000000a';
const COPIES = { 12: './nest-global.ts', 11: './nest-11/.project/nest-global.ts' } as const;

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const EVERY = ([12, 11] as const).flatMap((version) =>
  (['express', 'fastify'] as const).map((platform) => [version, platform] as const),
);

describeInstalled.each(EVERY)('Nest %s on %s, with global guards', (version, platform) => {
  test('asks who calls and for their role exactly where it should', async () => {
    const { createApp, keyring } = (await import(
      /* @vite-ignore */ COPIES[version]
    )) as typeof import('./nest-global.ts');
    const app = await createApp(platform);
    closers.push(() => app.close());
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    const input = { name: 'test', scopes: ['projects:read'], expiresAt: 'never' } as const;
    const { key } = await keyring.issue(input, { entityId: OWN, scopes: 'all' });
    const byKey = { Authorization: `Bearer ${key}` };
    const callers = [
      {},
      { Cookie: 'role=member' },
      { Cookie: 'role=admin' },
      byKey,
      // With any header, a member once passed a guard that looked for the header.
      { Cookie: 'role=member', Authorization: 'x' },
      { Cookie: 'role=admin', ...byKey },
    ];
    const statuses: Record<string, readonly number[]> = {};
    for (const path of ['projects', 'archive', 'forgotten', 'settings', 'profile', 'healthz']) {
      const asked = callers.map((headers) => fetch(`${url}/${path}`, { headers }));
      statuses[path] = (await Promise.all(asked)).map(({ status }) => status);
    }
    expect(statuses).toEqual({
      projects: [401, 200, 200, 200, 401, 200],
      archive: [401, 403, 200, 200, 401, 200],
      // Marked as public by mistake: an error, and open to nobody without a key.
      forgotten: [500, 500, 500, 200, 401, 200],
      settings: [401, 403, 200, 401, 403, 200],
      profile: [401, 200, 200, 401, 200, 200],
      healthz: [200, 200, 200, 200, 200, 200],
    });
  });
});
