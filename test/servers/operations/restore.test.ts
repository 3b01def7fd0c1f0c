/**
 * A backup restored with the commands of the runbook: the restored state is as the page
 * says, and its script ends the ended keys again.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Keyring, KeyringEvent, KeyStore } from 'keyscope';
import { mysqlStore } from 'keyscope/stores/mysql';
import { postgresStore } from 'keyscope/stores/postgres';
import { redisStore } from 'keyscope/stores/redis';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Folder, folder } from '../../support/folder.ts';
import { AUTHORITY, HOUR, OTHER, OWN, PLAIN, type Ring, setUp } from '../../support/keyring.ts';
import { emptyDatabase, isMariadb, SERVER } from '../../support/mysql-clients.ts';
import { outcome } from '../../support/outcome.ts';
import { blocksUnder } from '../../support/pages.ts';
import { pgClient, url } from '../../support/postgres-clients.ts';
import { type Recipes, writeRecipes } from '../../support/recipes.ts';
import { connectTo } from '../../support/redis-clients.ts';
import { isRedisInstalled, startOwn, startRedis } from '../../support/redis-servers.ts';
import { describeOn } from '../../support/servers.ts';

const PAGE = 'docs/runbooks/06-restore.md';
const BACK_UP = blocksUnder(PAGE, '## Back up', 'sh');
const RESTORE = blocksUnder(PAGE, '## Restore', 'sh');

/** A database with a store, and the same as it was at the call of `backUp`. */
interface Engine {
  readonly store: Required<KeyStore>;
  backUp(): void;
  restore(): Promise<Restored>;
}

interface Restored {
  readonly store: Required<KeyStore>;
  /** Tries an edit that the triggers reject. */
  erase?(): Promise<unknown>;
}

type Open = (own: Folder) => Promise<Engine>;

/** Runs lines from the page, in a folder of the test. */
function run(own: Folder, lines: string, env: Readonly<Record<string, string>>): void {
  execFileSync('sh', ['-ec', lines], {
    cwd: own.file(''),
    env: { ...process.env, ...env },
    stdio: 'pipe',
    // It would wait for ever for a lock that this process holds.
    timeout: 60_000,
  });
}

async function openPostgres(own: Folder): Promise<Engine> {
  const admin = await pgClient();
  const name = `keyscope_${randomUUID().replaceAll('-', '')}`;
  await admin.query(`CREATE DATABASE ${name}`);
  const address = new URL(url);
  address.pathname = `/${name}`;
  let pool = new pg.Pool({ connectionString: address.href });
  onTestFinished(async () => {
    await pool.end();
    for (const each of [name, `${name}_lost`]) await admin.query(`DROP DATABASE ${each}`);
    await admin.end();
  });
  const typed = (block = '') =>
    block.replaceAll('acme', name).replace('keyscope_owner', address.username);
  const env = { ADMIN_URL: url, OWNER_URL: address.href };
  return {
    store: postgresStore(pool),
    backUp: () => run(own, typed(BACK_UP[0]), env),
    async restore() {
      await pool.end();
      run(own, typed(RESTORE[0]), env);
      pool = new pg.Pool({ connectionString: address.href });
      const erase = () => pool.query('DELETE FROM keyscope_keys');
      return { store: postgresStore(pool), erase };
    },
  };
}

/** The page's programs, and those that take their place: MySQL does not load MariaDB's dumps. */
const PROGRAMS: Readonly<Record<string, string>> = isMariadb
  ? { 'mariadb-dump': 'mariadb-dump', mariadb: 'mariadb' }
  : { 'mariadb-dump': 'mysqldump --set-gtid-purged=OFF', mariadb: 'mysql' };

/** MariaDB installs its program under MySQL's name, too. */
function hasPrograms(): boolean {
  const program = isMariadb ? 'mariadb-dump' : 'mysqldump';
  const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return status === 0 && stdout.includes('MariaDB') === isMariadb;
}

async function openMysql(own: Folder): Promise<Engine> {
  const database = await emptyDatabase();
  let pool = mysql.createPool(database.settings);
  onTestFinished(async () => {
    await pool.end();
    await database.drop();
  });
  const { host, port, user, password } = SERVER;
  const env = { MYSQL_PWD: password };
  const login = `--host=${host} --port=${port} --user=${user}`;
  const typed = (block = '') =>
    block
      .replaceAll(/^mariadb(-dump)?/gm, (name) => `${PROGRAMS[name]} ${login}`)
      .replaceAll(/\bkeyscope\b/g, database.name);
  return {
    store: mysqlStore(pool),
    backUp: () => run(own, typed(BACK_UP[1]), env),
    async restore() {
      await pool.end();
      run(own, typed(RESTORE[1]), env);
      pool = mysql.createPool(database.settings);
      const erase = () => pool.query('DELETE FROM keyscope_keys');
      return { store: mysqlStore(pool), erase };
    },
  };
}

async function openRedis(own: Folder): Promise<Engine> {
  const before = await startRedis();
  const { client, close } = await connectTo('node-redis', before.url);
  const ends: (() => unknown)[] = [close, before.remove];
  onTestFinished(async () => {
    for (const end of ends) await end();
  });
  const line = (BACK_UP[2] ?? '').replaceAll(/^redis-cli/gm, `redis-cli -p ${before.port}`);
  return {
    store: redisStore(client),
    backUp: () => run(own, line, {}),
    async restore() {
      const after = await startOwn(({ port, dir }) => {
        copyFileSync(own.file('keys.rdb'), join(dir, 'dump.rdb'));
        return ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', ''];
      });
      const opened = await connectTo('node-redis', after.url);
      ends.push(opened.close, after.remove);
      return { store: redisStore(opened.client) };
    },
  };
}

const has = (program: string) => spawnSync(program, ['--version']).status === 0;
const onPostgres = has('pg_dump') ? await describeOn('postgres') : describe.skip;
const onMysql = hasPrograms() ? await describeOn('mysql') : describe.skip;
const onRedis = isRedisInstalled && has('redis-cli') ? describe : describe.skip;

interface Replay {
  replay(keyring: Keyring, events: KeyringEvent[]): Promise<Readonly<Record<string, number>>>;
}

let recipes: Recipes;
let replay: Replay['replay'];
beforeAll(async () => {
  recipes = writeRecipes(PAGE, 'test/servers/operations', ['replay.ts']);
  ({ replay } = (await recipes.load('replay.ts')) as Replay);
});
afterAll(() => recipes.remove());

const NAMES = [
  'kept',
  'revoked',
  'suspended',
  'resumed',
  'rotated',
  'rotating',
  'withdrawn',
] as const;
type Name = (typeof NAMES)[number];

/** Keys by what happens to them after the backup. */
async function issueAll(keyring: Ring) {
  const made = new Map<Name, Awaited<ReturnType<Keyring['issue']>>>();
  const authority = { ...AUTHORITY, entities: [OTHER] };
  for (const name of NAMES) {
    const input = { ...PLAIN, name, accessibleEntities: [OTHER] };
    made.set(name, await keyring.issue(input, authority));
  }
  return (name: Name) => {
    const { key, info } = made.get(name) as Awaited<ReturnType<Keyring['issue']>>;
    return { key, keyId: info.keyId };
  };
}

async function playIn(open: Open): Promise<void> {
  const own = folder();
  onTestFinished(() => own.remove());
  const engine = await open(own);
  const { keyring, events } = setUp({ store: engine.store, now: Date.now });
  const of = await issueAll(keyring);
  await keyring.suspend(of('resumed').keyId, AUTHORITY);
  engine.backUp();
  const backedUp = events.length;

  const why = { ...AUTHORITY, actor: 'ada', reason: 'because' };
  await keyring.revoke(of('revoked').keyId, why);
  await keyring.suspend(of('suspended').keyId, why);
  await keyring.resume(of('resumed').keyId, why);
  const successor = await keyring.rotate(
    of('rotated').keyId,
    { overlapMs: 0 },
    { ...why, entities: [OTHER] },
  );
  await keyring.rotate(of('rotating').keyId, { overlapMs: HOUR }, { ...why, entities: [OTHER] });
  await keyring.withdraw(of('withdrawn').keyId, { ...why, entityId: OTHER });
  const issued = await keyring.issue(PLAIN, why);

  const { store, erase } = await engine.restore();
  if (erase !== undefined) await expect(erase()).rejects.toThrow('keys are revoked and never');
  const after = setUp({ store, now: Date.now });
  const said = (key: string) => outcome(() => after.keyring.verify(key));
  const states = async () => {
    const told = await Promise.all(NAMES.map((name) => said(of(name).key)));
    return Object.fromEntries(NAMES.map((name, at) => [name, told[at]]));
  };
  const reached = async () => (await after.keyring.verify(of('withdrawn').key)).accessibleEntities;

  // As the table on the page says.
  const restored = {
    kept: 'passed',
    revoked: 'passed',
    suspended: 'passed',
    rotated: 'passed',
    rotating: 'passed',
    withdrawn: 'passed',
  };
  expect(await states()).toEqual({ ...restored, resumed: 'invalid_token suspended' });
  expect(await reached()).toEqual([OWN, OTHER]);
  expect(await said(successor.key)).toBe('invalid_token unknown_key');
  expect(await said(issued.key)).toBe('invalid_token unknown_key');

  // As a log has it, from before the backup on.
  const log = events
    .slice(backedUp - 2)
    .map((event) => JSON.parse(JSON.stringify(event)) as KeyringEvent);
  // The order in which several files are read does not matter.
  const done = await replay(after.keyring as Keyring, log.toReversed());
  expect(done).toEqual({
    'ended again': 2,
    suspended: 2,
    resumed: 1,
    withdrawn: 1,
    'overlap not over': 1,
  });
  const replayed = {
    kept: 'passed',
    revoked: 'invalid_token revoked',
    suspended: 'invalid_token suspended',
    resumed: 'passed',
    rotated: 'invalid_token revoked',
    rotating: 'passed',
    withdrawn: 'passed',
  };
  expect(await states()).toEqual(replayed);
  expect(await reached()).toEqual([OWN]);
  const info = await after.keyring.get(of('revoked').keyId, AUTHORITY);
  expect(info).toMatchObject({ endedBy: 'ada', endReason: 'because', tampered: false });

  const count = after.events.length;
  await replay(after.keyring as Keyring, log);
  expect(await states()).toEqual(replayed);
  // Keys that were suspended and resumed are so again; ended keys stay ended.
  expect(after.events.slice(count).filter(({ type }) => type === 'key.revoked')).toEqual([]);
}

onPostgres('a backup of PostgreSQL', () => {
  test('is restored as the page says, and its script ends the keys again', () =>
    playIn(openPostgres));
});

onMysql('a backup of MySQL or MariaDB', () => {
  test('is restored as the page says, and its script ends the keys again', () => playIn(openMysql));
});

onRedis('a backup of Redis', () => {
  test('is restored as the page says, and its script ends the keys again', () => playIn(openRedis));
});

describe('the script', () => {
  test('compiles as printed', () => expect(recipes.complaints()).toEqual([]));

  test('continues after keys created since, and stops at a broken store', async () => {
    const { keyring, events } = setUp();
    const { info } = await keyring.issue(PLAIN, AUTHORITY);
    await keyring.revoke(info.keyId, AUTHORITY);
    await replay(setUp().keyring as Keyring, events);
    const broken = { ...keyring, revoke: () => Promise.reject(new Error('down')) } as Keyring;
    await expect(replay(broken, events)).rejects.toThrow('down');
  });

  test('names a line that it cannot read, goes on, and refuses to run without a date', () => {
    const own = folder();
    onTestFinished(() => own.remove());
    const [script = ''] = blocksUnder(PAGE, '## The script', 'js');
    mkdirSync(own.file('keyscope'));
    const files = {
      'restore.mjs': script,
      'replay.ts': 'export const replay = async (_, events) => events.map(({ type }) => type);',
      'keyscope/keyring.mjs': 'export const keyring = {}, close = async () => {};',
      'a.log': '{"type":"key.revo\n{"level":30,"time":9999999999999}\nlistening\n',
      'b.log': '{"type":"key.revoked","time":9999999999999}\n{"type":"key.resumed","time":1}\n',
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(own.file(name), text);
    const start = (...args: string[]) =>
      spawnSync(process.execPath, [own.file('restore.mjs'), ...args], {
        cwd: own.file(''),
        encoding: 'utf8',
      });
    const { status, stdout, stderr } = start('2026-11-22T02:00Z', 'a.log', 'b.log');
    expect({ status, stdout }).toEqual({ status: 1, stdout: "[ 'key.revoked' ]\n" });
    expect(stderr).toContain('a.log:1 is not a whole event');
    expect(stderr).not.toContain('a.log:2');
    expect(start('2026-11-22T02:00Z', 'b.log').status).toBe(0);
    expect(start('b.log').stderr).toContain('Usage: node restore.mjs');
  });
});
