/** What `keyscope init` writes for each server, in a project that has the drivers: it works. */
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

/** What the config that was written says of a key's life, and of the database. */
async function start(database: string, where: Record<string, string>) {
  place = openPlace(null);
  symlinkSync(`${ROOT}/node_modules`, place.file('node_modules'));
  place.write('package.json', '{ "name": "acme", "devDependencies": { "typescript": "6" } }');
  expect((await place.run(['init', '--yes', '--database', database])).exit).toBe(0);
  const env = { PEPPER: PEPPER, ...where };
  const run = (args: readonly string[], input = '') => place.run(args, input, env);
  expect(await run(['migrate'])).toMatchObject({ exit: 0 });
  const asked = ['--entity', ENTITY, '--name', 'Try', '--scopes', 'reports:read'];
  const issued = await run(['issue', ...asked, '--expires', '1d']);
  expect(issued).toMatchObject({ exit: 0 });
  const found = await run(['whois', '--json'], issued.stdout);
  expect(JSON.parse(found.stdout)).toMatchObject({ state: 'live', entityUuid: ENTITY });
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
];

(await describeOn('postgres'))('init for PostgreSQL', () => {
  it('makes, finds and examines', async () => {
    const schema = await emptySchema();
    const where = new URL(postgresUrl);
    where.searchParams.set('options', `-c search_path=${schema.name}`);
    try {
      const { exit, checks } = await start('postgres', { DATABASE_URL: where.href });
      expect({ exit, checks }).toEqual({ exit: 0, checks: [...SQL_CHECKS, 'rights: ok'] });
    } finally {
      await schema.drop();
    }
  });
});

(await describeOn('mysql'))('init for MySQL', () => {
  it('makes, finds and examines', async () => {
    const database = await emptyDatabase();
    const where = new URL(SERVERS.mysql);
    where.pathname = `/${database.name}`;
    try {
      const { exit, checks } = await start('mysql', { DATABASE_URL: where.href });
      const rights = 'rights: not known';
      expect({ exit, checks }).toEqual({ exit: 0, checks: [...SQL_CHECKS, rights] });
    } finally {
      await database.drop();
    }
  });
});

(await describeOn('redis'))('init for Redis', () => {
  it('makes, finds and examines what it can without SQL', async () => {
    // What is written there has the names of every service; this database is nobody's.
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
