/** Calls the servers of docs/frameworks.md with a key and without one. */
import { spawn } from 'node:child_process';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type Ask, expectGuarded, FOREIGN, OWN, QUERY } from './guarded.ts';
import { binary, DENO_RUN, describeInstalled, RUNNING } from './installed.ts';
import { untilPrinted } from './printed.ts';
import { overHttp } from './served.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function issueKey(): Promise<string> {
  const { keyring } = await import('./.project/keys.ts');
  const input = { name: 'test', scopes: ['projects:read'], expiresAt: 'never' } as const;
  const { key } = await keyring.issue(input, { entityId: OWN, scopes: 'all' });
  return key;
}

async function listen(listener: RequestListener): Promise<Ask> {
  const { url, close } = await overHttp(listener);
  closers.push(() => close?.());
  return (path, init) => fetch(url + path, init);
}

describeInstalled('the server of the example', () => {
  test('for Koa', async () => {
    const { app } = await import('./.project/koa/server.ts');
    await expectGuarded(await listen(app.callback()), await issueKey(), QUERY);
  });

  test('for Elysia', async () => {
    const { app } = await import('./.project/elysia/server.ts');
    const ask: Ask = (path, init) => app.handle(new Request(`http://localhost${path}`, init));
    await expectGuarded(ask, await issueKey(), QUERY);
  });

  test('for Nest', async () => {
    const { createApp } = await import('./.project/nest/server.ts');
    const app = await createApp();
    closers.push(() => app.close());
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    await expectGuarded((path, init) => fetch(url + path, init), await issueKey(), QUERY);
  });

  test('for tRPC', async () => {
    const { server } = await import('./.project/trpc/server.ts');
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const ask: Ask = (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init);
    const input = `input=${JSON.stringify({ entityId: FOREIGN })}`;
    await expectGuarded(ask, await issueKey(), input);
  });

  test.each([
    ['bun', [binary('bun')]],
    ['deno', [binary('deno'), ...DENO_RUN]],
  ])('for %s', async (folder, [command = '', ...args]) => {
    const env = { ...RUNNING.env, PORT: '0' };
    const child = spawn(command, [...args, 'server-child.ts', folder], { ...RUNNING, env });
    closers.push(() => child.kill());
    const [url = '', key = ''] = await untilPrinted(child, [
      /Listening on (\S+?)\/?\s/,
      /Key (\S+)\n/,
    ]);
    const origin = url.replace('0.0.0.0', '127.0.0.1');
    await expectGuarded((path, init) => fetch(origin + path, init), key, QUERY);
    expect((await fetch(`${origin}/elsewhere`)).status).toBe(404);
  });

  // Bun ended when a handler returned nothing, which it does after an upgrade.
  test('for Bun upgrades a WebSocket behind a guard', async () => {
    const child = spawn(binary('bun'), ['upgrade-child.ts'], RUNNING);
    closers.push(() => child.kill());
    const printed = await untilPrinted(child, [/Answered (\S+)/, /Echoed (\S+)/]);
    expect(printed).toEqual(['401,426', 'hello']);
  });

  test('for deno compiles there', async () => {
    const child = spawn(
      binary('deno'),
      ['check', '--no-lock', '--node-modules-dir=manual', '.project/deno/server.ts'],
      RUNNING,
    );
    let said = '';
    child.stderr.on('data', (chunk) => {
      said += chunk;
    });
    const status = await new Promise((resolve) => child.on('close', resolve));
    expect({ status, said: status === 0 ? '' : said }).toEqual({ status: 0, said: '' });
  });
});
