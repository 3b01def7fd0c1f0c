/** The files of `keyscope init` work with each server, in a project with its driver. */
import { symlinkSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import { ENTITY, openPlace, PEPPER, type Place } from '../support/command.ts';
import { emptyDatabase } from '../support/mysql-clients.ts';
import { emptySchema, url as postgresUrl } from '../support/postgres-clients.ts';
import { deleteUnder } from '../support/redis-clients.ts';
import { describeOn, SERVERS } from '../support/servers.ts';
import { ROOT } from '../support/source.ts';

let place: Place;
afterEach(() => place.remove());

/** Runs `init`, creates and finds a key, and returns the findings of `doctor`. */
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
  return { exit, checks: rows.map(({ check, state }) => `${check}: ${state}`) };
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
  it('writes files that issue and find a key, and pass doctor', async () => {
    const schema = await emptySchema();
    const where = new URL(postgresUrl);
    where.searchParams.set('options', `-c search_path=${schema.name}`);
    try {
      const { exit, checks } = await start('postgres', { DATABASE_URL: where.href });
      expect({ exit, checks }).toEqual({ exit: 0, checks: SQL_CHECKS });
    } finally {
      await schema.drop();
    }
  });
});

(await describeOn('mysql'))('keyscope init for MySQL', () => {
  it('writes files that issue and find a key, and pass doctor', async () => {
    const database = await emptyDatabase();
    const where = new URL(SERVERS.mysql);
    where.pathname = `/${database.name}`;
    try {
      const { exit, checks } = await start('mysql', { DATABASE_URL: where.href });
      // The tables of rights have columns of several collations, which once made the check fail.
      // MySQL has a user of its own, which the check once reported.
      expect({ exit, checks }).toEqual({ exit: 0, checks: SQL_CHECKS });
    } finally {
      await database.drop();
    }
  });
});

(await describeOn('redis'))('keyscope init for Redis', () => {
  it('writes files that issue and find a key, and pass the checks without SQL', async () => {
    // The files use fixed key names, so this test needs a database of its own.
    const where = new URL(SERVERS.redis);
    where.pathname = '/13';
    try {
      const { exit, checks } = await start('redis', { REDIS_URL: where.href });
      expect(exit).toBe(0);
      expect(checks).toContain('store: ok');
      expect(checks).toContain('deployment: ok');
    } finally {
      await deleteUnder(where.href, 'keyscope');
    }
  });
});
