/** The files of `keyscope init` work with each server, in a project with its driver. */
import { spawn } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import { ENTITY, openPlace, PEPPER, type Place } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { emptyDatabase } from '../support/mysql-clients.ts';
import { emptySchema, url as postgresUrl } from '../support/postgres-clients.ts';
import { deleteUnder } from '../support/redis-clients.ts';
import { describeOn, SERVERS } from '../support/servers.ts';
import { ROOT } from '../support/source.ts';
import { NODE_ARGUMENTS } from '../support/store-process.ts';
import { openTcpProxy } from '../support/tcp-proxy.ts';

let place: Place;
afterEach(() => place.remove());

/** Runs `init`, creates and finds a key, and returns it and the findings of `doctor`. */
async function start(database: string, where: Record<string, string>) {
  place = openPlace(null);
  symlinkSync(`${ROOT}/node_modules`, place.file('node_modules'));
  place.write('package.json', '{ "name": "acme", "devDependencies": { "typescript": "6" } }');
  expect((await place.run(['init', '--yes', '--database', database])).exit).toBe(0);
  const env = { PEPPER: PEPPER, ...where };
  const run = (args: readonly string[], input = '') => place.run(args, input, env);
  expect(await run(['migrate'])).toMatchObject({ exit: 0 });
  const asked = ['--entity', ENTITY, '--name', 'Try', '--scopes', 'invoices:read'];
  const issued = await run(['issue', ...asked, '--expires', '1d']);
  expect(issued).toMatchObject({ exit: 0 });
  const found = await run(['whois', '--json'], issued.stdout);
  expect(JSON.parse(found.stdout)).toMatchObject({ state: 'live', entityId: ENTITY });
  const { stdout, exit } = await run(['doctor', '--json']);
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly check: string; readonly state: string });
  const key = issued.stdout.trim();
  return { exit, key, checks: rows.map(({ check, state }) => `${check}: ${state}`) };
}

/** Looks up a key again and again, and says how each look-up ended. */
const LOOKS_UP = `
  import { keyring } from './keyscope/keyring.mts';
  while (true) {
    console.log(await keyring.verify(process.env.KEY).then(() => 'live', ({ name }) => name));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }`;

/** In the project of `start`, whose client has to find the server again. */
async function expectRecovery(key: string, variable: string, where: URL): Promise<void> {
  const proxy = await openTcpProxy({ host: where.hostname, port: Number(where.port) });
  const through = new URL(where.href);
  through.port = String(proxy.port);
  const env = { ...process.env, PEPPER, KEY: key, [variable]: through.href };
  place.write('looks-up.mts', LOOKS_UP);
  const argv = [...NODE_ARGUMENTS, 'looks-up.mts'];
  const child = spawn(process.execPath, argv, { cwd: place.file(''), env });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    printed += text;
  });
  const works = async () => printed.endsWith('live\n') && proxy.connections() > 0;
  try {
    await eventually(works, 'a look-up');
    proxy.cut();
    printed = '';
    await eventually(works, 'a look-up after all connections were lost');
  } finally {
    child.kill();
    await proxy.close();
  }
}

const SQL_CHECKS = [
  'config: ok',
  'schema: ok',
  'store: ok',
  'clock: ok',
  'primary: ok',
  'triggers: ok',
  'pool: ok',
  'channel: ok',
  'peppers: ok',
  'deployment: ok',
  'records: ok',
  'rights: ok',
  'orm: ok',
];

(await describeOn('postgres'))('keyscope init for PostgreSQL', () => {
  it('writes files that issue a key, pass doctor, and survive lost connections', async () => {
    const schema = await emptySchema();
    const where = new URL(postgresUrl);
    where.searchParams.set('options', `-c search_path=${schema.name}`);
    try {
      const { exit, key, checks } = await start('postgres', { DATABASE_URL: where.href });
      expect({ exit, checks }).toEqual({ exit: 0, checks: SQL_CHECKS });
      await expectRecovery(key, 'DATABASE_URL', where);
    } finally {
      await schema.drop();
    }
  });
});

(await describeOn('mysql'))('keyscope init for MySQL', () => {
  it('writes files that issue a key, pass doctor, and survive lost connections', async () => {
    const database = await emptyDatabase();
    const where = new URL(SERVERS.mysql);
    where.pathname = `/${database.name}`;
    try {
      const { exit, key, checks } = await start('mysql', { DATABASE_URL: where.href });
      // The tables of rights have columns of several collations, which once made the check fail.
      // MySQL has a user of its own, which the check once reported.
      expect({ exit, checks }).toEqual({ exit: 0, checks: SQL_CHECKS });
      await expectRecovery(key, 'DATABASE_URL', where);
    } finally {
      await database.drop();
    }
  });
});

(await describeOn('redis'))('keyscope init for Redis', () => {
  it('writes files that issue a key, and survive lost connections', async () => {
    // The files use fixed key names, so this test needs a database of its own.
    const where = new URL(SERVERS.redis);
    where.pathname = '/13';
    try {
      const { exit, key, checks } = await start('redis', { REDIS_URL: where.href });
      expect(exit).toBe(0);
      expect(checks).toContain('store: ok');
      expect(checks).toContain('deployment: ok');
      // The client once gave up after the first lost connection: 503 until the service's restart.
      await expectRecovery(key, 'REDIS_URL', where);
    } finally {
      await deleteUnder(where.href, 'keyscope');
    }
  });
});
