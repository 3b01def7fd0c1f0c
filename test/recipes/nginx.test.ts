/** The nginx configuration of docs/recipes.md, as printed, in a real nginx. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import express from 'express';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createGuard } from '../../examples/express/adapter.ts';
import { close, listen } from '../examples/http-harness.ts';
import { eventually } from '../support/eventually.ts';
import { AUTHORITY, PLAIN, setUp, wrap } from '../support/keyring.ts';
import { blocksUnder } from '../support/pages.ts';
import { atTheEnd, freePort, ownFolder } from '../support/postgres-servers.ts';

/** Debian installs it outside of the PATH of most users. */
const PLACES = ['/usr/sbin/nginx', '/usr/bin/nginx', '/usr/local/bin/nginx'];
const program = PLACES.find((path) => existsSync(path));
const [PRINTED = ''] = blocksUnder('docs/recipes.md', '## nginx', 'nginx');

describe.skipIf(program === undefined)('auth_request of nginx', () => {
  const servers: Server[] = [];
  const cleanUps: (() => unknown)[] = [];
  const keys = { good: '', narrow: '' };
  let isDown = false;
  let asks = 0;
  let url = '';

  /** Listens with an app, and returns its address. */
  async function serve(app: express.Express): Promise<string> {
    const server = createServer(app);
    servers.push(server);
    return `127.0.0.1:${await listen(server)}`;
  }

  /** Starts the printed configuration, with these two servers instead of the printed ones. */
  async function startNginx(guard: string, service: string): Promise<void> {
    const folder = ownFolder();
    const port = await freePort();
    const recipe = PRINTED.replace('127.0.0.1:3000', guard).replace('127.0.0.1:8080', service);
    const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
    const paths = kinds.map((kind) => `${kind}_temp_path ${folder.path}/${kind};`).join(' ');
    const file = join(folder.path, 'nginx.conf');
    writeFileSync(
      file,
      `daemon off; master_process off; pid ${folder.path}/pid; error_log stderr crit; events {}
      http { access_log off; ${paths} server { listen 127.0.0.1:${port}; ${recipe} } }`,
    );
    const running = spawn(program ?? 'nginx', ['-c', file, '-e', 'stderr'], { stdio: 'inherit' });
    const gone = once(running, 'exit');
    const kill = atTheEnd(() => running.kill('SIGKILL'));
    cleanUps.push(async () => {
      kill();
      await gone;
      folder.remove();
    });
    url = `http://127.0.0.1:${port}`;
    await eventually(async () => (await fetch(`${url}/elsewhere`)).status === 404, 'nginx answers');
  }

  beforeAll(async () => {
    expect(PRINTED).toContain('auth_request /guard;');
    const { store } = setUp();
    const failing = wrap(store, (_method, _args, call) => {
      if (isDown) throw new Error('ECONNRESET');
      return call();
    });
    const { keyring } = setUp({ store: failing });
    keys.good = (await keyring.issue(PLAIN, AUTHORITY)).key;
    keys.narrow = (
      await keyring.issue({ ...PLAIN, scopes: ['users:read'], justification: 'x' }, AUTHORITY)
    ).key;
    const guard = createGuard({ keyring });
    const guards = express();
    guards.get('/guard', guard('list'), (_req, res) => void res.status(204).end());
    const service = express();
    service.use((req, res) => {
      asks += 1;
      if (req.path === '/reports/broken') res.status(500).send('of the service');
      else req.pipe(res);
    });
    await startNginx(await serve(guards), await serve(service));
  });
  afterAll(async () => {
    for (const cleanUp of cleanUps) await cleanUp();
    for (const server of servers) await close(server);
  });

  test.each<[number, string, () => string | undefined]>([
    [400, 'a malformed credential', () => `Bearer ${keys.good} x`],
    [401, 'no key', () => undefined],
    [401, 'an unknown key', () => `Bearer ${keys.good.slice(0, -1)}`],
    [403, 'a key without the scope', () => `Bearer ${keys.narrow}`],
    [503, 'an outage', () => `Bearer ${keys.good}`],
  ])('answers %i to %s', async (status, what, credential) => {
    const authorization = credential();
    const headers = authorization === undefined ? {} : { authorization };
    const before = asks;
    isDown = what === 'an outage';
    const answer = await fetch(`${url}/reports`, { headers });
    isDown = false;
    expect([answer.status, asks - before]).toEqual([status, 0]);
    const challenge = answer.headers.get('www-authenticate');
    if (status === 401) expect(challenge).toMatch(/^Bearer realm="acme"/);
    else expect(challenge).toBeNull();
  });

  test('lets a good key in, with its body, and keeps a 500 of the service', async () => {
    const headers = { authorization: `Bearer ${keys.good}` };
    const sent = { method: 'POST', headers, body: 'rows' };
    const answer = await fetch(`${url}/reports?entity_uuid=x`, sent);
    expect([answer.status, await answer.text()]).toEqual([200, 'rows']);
    const broken = await fetch(`${url}/reports/broken`, { headers });
    expect([broken.status, await broken.text()]).toEqual([500, 'of the service']);
    expect((await fetch(`${url}/guard`, { headers })).status).toBe(404);
  });
});
