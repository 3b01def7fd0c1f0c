/**
 * MariaDB servers that a test starts and breaks itself: a single one, a primary with a replica, and
 * a Galera cluster. MariaDB refuses to run as root, so root starts it as the user `mysql`.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import mysql from 'mysql2/promise';
import { eventually } from './eventually.ts';
import { atTheEnd } from './postgres-servers.ts';
import type { Address } from './tcp-proxy.ts';

// ── Installed programs ──────────────────────────────────────────────────────────────────────────

function isInstalled(program: string): boolean {
  return spawnSync(program, ['--version']).status === 0;
}

/** The missing program, if any. */
export const missingMariadb: string | undefined =
  isInstalled('mariadbd') && isInstalled('mariadb-install-db')
    ? undefined
    : 'a MariaDB server (mariadbd)';

const PROVIDERS = ['/usr/lib/galera/libgalera_smm.so', '/usr/lib64/galera-4/libgalera_smm.so'];
const provider = PROVIDERS.find((path) => existsSync(path));
/** The same for a cluster, whose nodes copy their data with rsync. */
export const missingGalera: string | undefined =
  missingMariadb ??
  (provider !== undefined && isInstalled('rsync') ? undefined : 'Galera, with rsync');

// ── One server ──────────────────────────────────────────────────────────────────────────────────

const isRoot = process.getuid?.() === 0;

function idOf(option: '-u' | '-g'): number {
  return Number(spawnSync('id', [option, 'mysql'], { encoding: 'utf8' }).stdout);
}

/** A folder owned by the server's user. */
function ownFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'keyscope-mariadb-'));
  if (isRoot) chownSync(path, idOf('-u'), idOf('-g'));
  return path;
}

const asUser = isRoot ? ['--user=mysql'] : [];

/** Below the range that the system assigns to clients, because a node opens some ports late. */
const FIRST_PORT = 20_000;
const PORTS = 12_000;

/** A port on which nothing listened a moment ago. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(Boolean, () => false);
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

/** A MariaDB server with a separate folder. */
export interface OwnMariadb {
  readonly address: Address;
  /** Runs SQL over a separate connection. */
  rows(sql: string): Promise<readonly Record<string, unknown>[]>;
  /** Starts the server with additional options and waits until it answers. */
  start(...more: string[]): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Pauses it in the middle of its work until it is resumed. Its connections stay open. */
  pause(): void;
  resume(): void;
  /** Stops it and removes its folder. */
  remove(): Promise<void>;
}

const execute = promisify(execFile);

/** Small and fast. Losing data in a machine crash does not matter here. */
const SMALL = [
  '--bind-address=127.0.0.1',
  '--innodb-buffer-pool-size=16M',
  '--innodb-log-file-size=8M',
  '--innodb-flush-log-at-trx-commit=2',
  '--skip-name-resolve',
];

/** Connection settings for the tests' own connections. */
export function rootAt({ host, port }: Address) {
  return { host, port, user: 'root', password: '', connectTimeout: 2_000 } as const;
}

async function ask(address: Address, sql: string): Promise<readonly Record<string, unknown>[]> {
  const connection = await mysql.createConnection(rootAt(address));
  // Without a listener, the end of the server would be an uncaught error.
  connection.on('error', () => {});
  try {
    const [rows] = await connection.query(sql);
    return Array.isArray(rows) ? (rows as Record<string, unknown>[]) : [];
  } finally {
    connection.destroy();
  }
}

/**
 * Creates the folder of a server, with data unless the cluster supplies them. Does not start it.
 */
export async function installMariadb(
  options: readonly string[],
  hasData: boolean = true,
): Promise<OwnMariadb> {
  const folder = ownFolder();
  const data = join(folder, 'data');
  const address = { host: '127.0.0.1', port: await freePort() };
  let running: ChildProcess | undefined;
  const clear = atTheEnd(() => {
    running?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const install = ['--no-defaults', ...asUser, `--datadir=${data}`];
  const plainRoot = '--auth-root-authentication-method=normal';
  if (hasData) await execute('mariadb-install-db', [...install, plainRoot, '--skip-test-db']);
  else await execute('install', ['-d', ...(isRoot ? ['-o', 'mysql'] : []), data]);
  const log = join(folder, 'log');
  const files = [`--socket=${join(folder, 'socket')}`, `--pid-file=${join(folder, 'pid')}`];
  const argv = [...install, ...files, ...SMALL, `--port=${address.port}`, ...options];

  async function start(...more: string[]): Promise<void> {
    const output = openSync(log, 'a');
    const stdio = ['ignore', output, output] as const;
    const child = spawn('mariadbd', [...argv, ...more], { stdio: [...stdio], cwd: '/' });
    closeSync(output);
    running = child;
    async function isUp(): Promise<boolean> {
      if (child.exitCode !== null) throw new Error(readFileSync(log, 'utf8').slice(-2_000));
      const [{ Value } = {}] = await ask(address, "SHOW STATUS LIKE 'wsrep_ready'");
      return Value === 'ON' || !argv.includes('--wsrep-on=ON');
    }
    await eventually(isUp, `mariadbd on port ${address.port} answers`, 60_000);
  }

  async function stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = running;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }

  return {
    address,
    rows: (sql) => ask(address, sql),
    start,
    stop,
    pause: () => running?.kill('SIGSTOP'),
    resume: () => running?.kill('SIGCONT'),
    async remove() {
      await stop();
      clear();
    },
  };
}

/** A single running server. */
export async function startMariadb(...options: string[]): Promise<OwnMariadb> {
  const server = await installMariadb(options);
  await server.start();
  return server;
}

// ── A primary with a replica ────────────────────────────────────────────────────────────────────

/** With the binary log on, creating triggers would otherwise require more rights. */
const REPLICATED = ['--log-bin=bin', '--log-slave-updates', '--log-bin-trust-function-creators'];

export interface MariadbPair {
  readonly primary: OwnMariadb;
  readonly replica: OwnMariadb;
}

/** Makes a server the replica of another. Replication is asynchronous, so it lags. */
export async function follow(replica: OwnMariadb, { address }: OwnMariadb): Promise<void> {
  const { host, port } = address;
  await replica.rows('SET GLOBAL read_only = 1');
  await replica.rows(`CHANGE MASTER TO MASTER_HOST = '${host}', MASTER_PORT = ${port},
    MASTER_USER = 'root', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1`);
  await replica.rows('START SLAVE');
}

export async function promoteMariadb(replica: OwnMariadb): Promise<void> {
  await replica.rows('STOP SLAVE');
  await replica.rows('RESET SLAVE ALL');
  await replica.rows('SET GLOBAL read_only = 0');
}

export async function startMariadbPair(): Promise<MariadbPair> {
  const [primary, replica] = await Promise.all(
    [1, 2].map((id) => startMariadb(`--server-id=${id}`, ...REPLICATED)),
  );
  if (primary === undefined || replica === undefined) throw new Error('no servers');
  // The installation wrote the same data on both.
  for (const server of [primary, replica]) await server.rows('RESET MASTER');
  await follow(replica, primary);
  return { primary, replica };
}

// ── A Galera cluster ────────────────────────────────────────────────────────────────────────────

async function installNode(number: number): Promise<{ node: OwnMariadb; gossip: number }> {
  const gossip = await freePort();
  const increments = await freePort();
  const transfer = await freePort();
  const node = await installMariadb(
    [
      '--binlog-format=ROW',
      '--log-bin-trust-function-creators',
      '--innodb-autoinc-lock-mode=2',
      '--wsrep-on=ON',
      `--wsrep-provider=${provider}`,
      '--wsrep-cluster-name=keyscope',
      `--wsrep-node-name=node${number}`,
      '--wsrep-node-address=127.0.0.1',
      '--wsrep-sst-method=rsync',
      `--wsrep-sst-receive-address=127.0.0.1:${transfer}`,
      `--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:${gossip};` +
        `ist.recv_addr=127.0.0.1:${increments};gcache.size=8M`,
    ],
    number === 1,
  );
  return { node, gossip };
}

/** Three nodes, each with the data of the first. */
export async function startGalera(): Promise<readonly [OwnMariadb, OwnMariadb, OwnMariadb]> {
  const first = await installNode(1);
  const second = await installNode(2);
  const third = await installNode(3);
  await first.node.start('--wsrep-cluster-address=gcomm://');
  const cluster = `--wsrep-cluster-address=gcomm://127.0.0.1:${first.gossip}`;
  await second.node.start(cluster);
  await third.node.start(cluster);
  return [first.node, second.node, third.node];
}
