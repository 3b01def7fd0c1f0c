/**
 * PostgreSQL servers that a test starts and breaks itself: a single one, and a primary with a
 * standby. PostgreSQL refuses to run as root, so root starts it as the user `postgres`.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { eventually } from './eventually.ts';
import type { Settings } from './postgres-clients.ts';
import type { Address } from './tcp-proxy.ts';

// ── Installed programs ──────────────────────────────────────────────────────────────────────────

const { PATH = '' } = process.env;

/** The folder of the programs. On Debian it is outside PATH. */
function findFolder(): string | undefined {
  const { stdout } = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' });
  const inPath = PATH.split(delimiter);
  const debian = globSync('/usr/lib/postgresql/*/bin').toSorted().toReversed();
  const folders = [String(stdout ?? '').trim(), ...inPath, ...debian];
  return folders.find((folder) => folder !== '' && existsSync(join(folder, 'initdb')));
}

const folder = findFolder();
/** The missing program, if any. */
export const missingPostgres: string | undefined =
  folder === undefined ? 'a PostgreSQL server (initdb)' : undefined;

function findVersion(): string {
  if (folder === undefined) return '';
  const { stdout } = spawnSync(join(folder, 'postgres'), ['--version'], { encoding: 'utf8' });
  return /\d+/.exec(stdout)?.[0] ?? '';
}

/** The name as tables print it. */
export const POSTGRES_NAME: string = `PostgreSQL ${findVersion()}`.trim();

/** The user that runs a server and owns its folders. */
export interface Owner {
  readonly uid?: number;
  readonly gid?: number;
}

function idOf(option: '-u' | '-g'): number {
  const { stdout } = spawnSync('id', [option, 'postgres'], { encoding: 'utf8' });
  return Number(stdout);
}

const isRoot = process.getuid?.() === 0;
/** The current user, unless that is root. */
export const OWNER: Owner = isRoot ? { uid: idOf('-u'), gid: idOf('-g') } : {};

// ── Clean-up after a run that is cut short ──────────────────────────────────────────────────────

const cleanUps = new Set<() => void>();
process.on('exit', () => {
  // Last created, first removed: a server before its disk, and the disk before its folder.
  for (const cleanUp of [...cleanUps].toReversed()) {
    try {
      cleanUp();
    } catch (error) {
      console.error(error);
    }
  }
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(1));
}

/** Calls `cleanUp` when this process ends. To call it earlier, call the returned function. */
export function atTheEnd(cleanUp: () => void): () => void {
  cleanUps.add(cleanUp);
  return () => {
    cleanUps.delete(cleanUp);
    cleanUp();
  };
}

/** A folder owned by the server's user, and a function that removes it. */
export function ownFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'keyscope-postgres-'));
  if (OWNER.uid !== undefined && OWNER.gid !== undefined) chownSync(path, OWNER.uid, OWNER.gid);
  // After a kill, the server's processes may still write there for a moment.
  const patiently = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 };
  const remove = atTheEnd(() => rmSync(path, patiently));
  return { path, remove };
}

/** A port on which nothing listened a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  return address.port;
}

const execute = promisify(execFile);

async function run(program: string, ...args: string[]): Promise<void> {
  // The other user may not have access to the current folder.
  await execute(join(folder ?? '', program), args, { ...OWNER, cwd: '/' });
}

// ── One server ──────────────────────────────────────────────────────────────────────────────────

/** How a server ends: by a regular shutdown, an immediate one, or a kill. */
export type Ending = 'fast' | 'immediate' | 'killed';

const SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT', killed: 'SIGKILL' } as const;

/** A PostgreSQL server. */
export interface OwnPostgres {
  readonly address: Address;
  /** The superuser's URL of its one database. */
  readonly url: string;
  /** The data folder. */
  readonly data: string;
  /** Runs SQL over a separate connection and returns the rows of the last statement. */
  sql(text: string): Promise<readonly Record<string, unknown>[]>;
  isRunning(): boolean;
  start(): Promise<void>;
  stop(ending: Ending): Promise<void>;
  /** Stops it and removes its folder. */
  remove(): Promise<void>;
}

async function query(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  await client.connect();
  try {
    const results = (await client.query(text)) as pg.QueryResult | pg.QueryResult[];
    const last = Array.isArray(results) ? results.at(-1) : results;
    return (last?.rows ?? []) as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

/** A server on existing data. Does not start it. */
function serverOn(data: string, port: number, settings: Settings, clear: () => void): OwnPostgres {
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const options = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    ...settings,
  };
  const argv = Object.entries(options).flatMap(([name, to]) => ['-c', `${name}=${to}`]);
  let running: ChildProcess | undefined;
  const sql = (text: string) => query(url, text);
  const isRunning = () => running?.exitCode === null && running.signalCode === null;
  const forget = atTheEnd(() => running?.kill('SIGKILL'));

  async function start(): Promise<void> {
    async function isUp(): Promise<boolean> {
      if (!isRunning()) {
        // A killed server may have left a process that is still ending.
        const program = join(folder ?? '', 'postgres');
        running = spawn(program, ['-D', data, ...argv], { ...OWNER, cwd: '/', stdio: 'ignore' });
      }
      await sql('SELECT 1');
      return true;
    }
    await eventually(isUp, `PostgreSQL on port ${port} answers`);
  }

  async function stop(ending: Ending): Promise<void> {
    if (running === undefined || !isRunning()) return;
    const gone = once(running, 'exit');
    running.kill(SIGNALS[ending]);
    await gone;
  }

  async function remove(): Promise<void> {
    await stop('immediate');
    forget();
    clear();
  }

  const address = { host: '127.0.0.1', port };
  return { address, url, data, sql, isRunning, start, stop, remove };
}

/**
 * The location of the data, if it is not a new folder: an existing empty folder that the owner has.
 */
export interface Place {
  readonly path: string;
  remove(): void;
}

/** Creates a database for a new server and starts it. */
export async function startPostgres(
  settings: Settings = {},
  place: Place = ownFolder(),
): Promise<OwnPostgres> {
  const data = join(place.path, 'data');
  const forSpeed = ['--no-sync', '--wal-segsize=1'];
  const plain = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--locale=C'];
  await run('initdb', `--pgdata=${data}`, ...forSpeed, ...plain);
  const server = serverOn(data, await freePort(), settings, () => place.remove());
  await server.start();
  return server;
}

// ── A primary and its standby ───────────────────────────────────────────────────────────────────

/** Whether a write waits until the standby shows it. */
export type Replication = 'asynchronous' | 'synchronous';

/** Two servers, the second following the first. */
export interface Pair {
  readonly primary: OwnPostgres;
  readonly standby: OwnPostgres;
  remove(): Promise<void>;
}

const STREAMING = "SELECT FROM pg_stat_replication WHERE state = 'streaming'";

async function follows(primary: OwnPostgres): Promise<boolean> {
  const rows = await primary.sql(STREAMING);
  return rows.length === 1;
}

export async function startPair(replication: Replication): Promise<Pair> {
  const primary = await startPostgres({ wal_keep_size: '64MB' });
  const place = ownFolder();
  const data = join(place.path, 'data');
  const source = `${primary.url}?application_name=standby`;
  await run('pg_basebackup', '-D', data, '-R', '--no-sync', '--checkpoint=fast', '-d', source);
  const standby = serverOn(data, await freePort(), {}, () => place.remove());
  await standby.start();
  await eventually(() => follows(primary), 'the standby follows');
  if (replication === 'synchronous') {
    await primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
    await primary.sql("ALTER SYSTEM SET synchronous_commit = 'remote_apply'");
    await primary.sql('SELECT pg_reload_conf()');
    const isSynchronous = async () => {
      const rows = await primary.sql(`${STREAMING} AND sync_state = 'sync'`);
      return rows.length === 1;
    };
    await eventually(isSynchronous, 'the standby is synchronous');
  }
  async function remove(): Promise<void> {
    await Promise.all([primary.remove(), standby.remove()]);
  }
  return { primary, standby, remove };
}

/** Promotes a standby and waits until it is the primary. */
export async function promote(standby: OwnPostgres): Promise<void> {
  await standby.sql('SELECT pg_promote(true, 60)');
}

/** Restarts a stopped server as a standby of another. */
export async function startAsStandby(server: OwnPostgres, primary: OwnPostgres): Promise<void> {
  const { host, port } = primary.address;
  const connection = `host=${host} port=${port} user=postgres application_name=standby`;
  const signal = join(server.data, 'standby.signal');
  writeFileSync(signal, '');
  writeFileSync(
    join(server.data, 'postgresql.auto.conf'),
    `primary_conninfo = '${connection}'\nrecovery_target_timeline = 'latest'\n`,
  );
  await server.start();
  await eventually(() => follows(primary), 'it follows');
}
