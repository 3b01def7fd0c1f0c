/** MySQL, Valkey and Redis in their newest versions, for this run. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../support/mariadb-servers.ts';
import type { Server } from './range.ts';

const ENGINES = ['MySQL', 'Valkey', 'Redis'] as const;
type Engine = (typeof ENGINES)[number];

interface Started {
  readonly version: string;
  readonly port: number;
}

/** How the process that starts them tells its children. */
const VARIABLE = 'KEYSCOPE_NEWEST_SERVERS';
const SCRIPT = join(import.meta.dirname, 'newest-servers.sh');

/** Starts them, and returns a function that ends them; they also end with this process. */
export async function startNewestServers(): Promise<() => Promise<void>> {
  if (process.getuid?.() !== 0) throw new Error('only root can start them');
  const ports: number[] = [];
  for (const _ of ENGINES) ports.push(await freePort());
  const script = spawn('bash', [SCRIPT, ...ports.map(String)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const started = new Map<Engine, Started>();
  for await (const version of createInterface(script.stdout)) {
    const engine = ENGINES[started.size];
    const port = ports[started.size];
    if (engine !== undefined && port !== undefined) started.set(engine, { version, port });
    if (started.size === ENGINES.length) break;
  }
  if (started.size < ENGINES.length) throw new Error('they did not start: see above');
  process.env[VARIABLE] = JSON.stringify(Object.fromEntries(started));
  return async () => {
    const gone = once(script, 'exit');
    script.stdin.end();
    await gone;
  };
}

function startedServers(): Readonly<Partial<Record<Engine, Started>>> {
  return JSON.parse(process.env[VARIABLE] ?? '{}') as Partial<Record<Engine, Started>>;
}

/** Their names with their versions, for the line below the table. */
export function newestNames(): readonly string[] {
  return Object.entries(startedServers()).map(([engine, { version }]) => `${engine} ${version}`);
}

/** Returns a server with the name `MySQL 9.7`; none if it was not started. */
export function newestServers(engine: Engine, urlAt: (host: string) => string): readonly Server[] {
  const started = startedServers()[engine];
  if (started === undefined) return [];
  const [release = ''] = /^\d+\.\d+/.exec(started.version) ?? [];
  const url = urlAt(`127.0.0.1:${started.port}`);
  return [{ name: `${engine} ${release}`, url: () => url }];
}
