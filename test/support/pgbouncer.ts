/** PgBouncer servers that a test starts between its clients and a PostgreSQL. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { eventually } from './eventually.ts';
import { atTheEnd, freePort, OWNER, ownFolder } from './postgres-servers.ts';

/** On Debian it is outside most users' PATH. */
const PLACES = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer'];
const program = PLACES.find((path) => existsSync(path));

/** The missing program, if any. */
export const missingPgBouncer: string | undefined = program === undefined ? 'PgBouncer' : undefined;

function findVersion(): string {
  if (program === undefined) return '';
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return /PgBouncer (\d+\.\d+)/.exec(stdout)?.[1] ?? '';
}

/** The version as tables print it. */
export const PGBOUNCER_VERSION: string = findVersion();

/** A PgBouncer server. */
export interface Bouncer {
  /** The URL of its one database. */
  readonly url: string;
  remove(): Promise<void>;
}

/** The database behind it. */
export interface Behind {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
}

/** Starts a server with these lines in the section `[pgbouncer]`. It accepts every user. */
export async function startPgBouncer(behind: Behind, settings: string): Promise<Bouncer> {
  const { host, port: at, user, database } = behind;
  const folder = ownFolder();
  const port = await freePort();
  const file = join(folder.path, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
${database} = host=${host} port=${at} user=${user} dbname=${database}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
${settings}
`,
  );
  const running: ChildProcess = spawn(program ?? 'pgbouncer', ['-q', file], {
    ...OWNER,
    cwd: '/',
    stdio: 'ignore',
  });
  const kill = atTheEnd(() => running.kill('SIGKILL'));
  const url = `postgres://${user}@127.0.0.1:${port}/${database}`;
  await eventually(async () => {
    const client = new pg.Client(url);
    client.on('error', () => {});
    await client.connect();
    await client.end();
    return true;
  }, 'PgBouncer answers');
  return {
    url,
    async remove() {
      const gone = once(running, 'exit');
      kill();
      await gone;
      folder.remove();
    },
  };
}
