/** The versions of the engines in use, for the headings of the table. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SERVERS } from '../support/servers.ts';

/** The version that a program reports, up to its second or third number. */
function said(command: string, ...args: string[]): string {
  const { stdout } = spawnSync(command, args, { encoding: 'utf8' });
  return /\d+\.\d+(?:\.\d+)?/.exec(stdout ?? '')?.[0] ?? '';
}

function sqlite(): string {
  const db = new DatabaseSync(':memory:');
  const rows = db.prepare('SELECT sqlite_version() AS version').all();
  db.close();
  return (rows as { readonly version: string }[])[0]?.version ?? '';
}

const VERSIONS: Readonly<Record<string, () => string>> = {
  PostgreSQL: () => said('psql', SERVERS.postgres, '-Atc', 'SHOW server_version'),
  MariaDB: () => said('mariadbd', '--version') || said('mysqld', '--version'),
  Redis: () => said('redis-server', '--version'),
  SQLite: sqlite,
};

/**
 * An engine with its full version: `PostgreSQL 15, primary` becomes `PostgreSQL 15.20, primary`.
 */
export function withVersion(engine: string): string {
  const [start = '', name = ''] = /^(\w+)(?: \d+)?/.exec(engine) ?? [];
  const version = VERSIONS[name]?.() ?? '';
  return version === '' ? engine : `${name} ${version}${engine.slice(start.length)}`;
}

const DRIVERS = ['pg', 'postgres', 'mysql2', 'mariadb', 'ioredis', 'redis', 'better-sqlite3'];

function versionOf(name: string): string {
  const path = join(import.meta.dirname, '../../node_modules', name, 'package.json');
  const { version } = JSON.parse(readFileSync(path, 'utf8')) as { readonly version: string };
  return version;
}

/** The date, the machine and the driver versions of the measurement. */
export function measuredOn(): string {
  const drivers = DRIVERS.map((name) => `${name} ${versionOf(name)}`);
  const date = new Date().toISOString().slice(0, 10);
  const cores = `${cpus().length} cores`;
  return `Measured ${date}; ${cores}; Node ${process.version}; ${drivers.join(', ')}.`;
}
