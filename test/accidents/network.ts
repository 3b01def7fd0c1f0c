/** Network accidents: each server behind a proxy that slows, stops or cuts its traffic. */
import type { TcpProxy } from '../support/tcp-proxy.ts';
import type { Accident, Stage } from './accident.ts';
import { mysqlHost } from './mysql-host.ts';
import { type Host, openPlace } from './place.ts';
import { postgresHost } from './postgres-host.ts';
import { redisHost } from './redis-host.ts';

/** Servers that are already up. To add an engine, add one line here and a file. */
export const HOSTS: Readonly<Record<string, () => Promise<Host>>> = {
  PostgreSQL: postgresHost,
  MariaDB: mysqlHost,
  'Redis, ioredis': () => redisHost('ioredis'),
  'Redis, node-redis': () => redisHost('node-redis'),
};

/** Skipped in quick runs: the server has already been tested with another client. */
const LATER: ReadonlySet<string> = new Set(['Redis, node-redis']);

/** A proxy's effect on the connections of a server. */
export interface Breach {
  readonly name: string;
  readonly lastsMs: number;
  strike(proxy: TcpProxy): void;
  mend?(proxy: TcpProxy): void;
}

export const BREACHES: readonly Breach[] = [
  { name: 'all connections are cut', lastsMs: 0, strike: (proxy) => proxy.cut() },
  {
    name: 'all connections are half-closed by the server',
    lastsMs: 0,
    strike: (proxy) => proxy.halfClose(),
  },
  {
    name: 'the network goes silent for 5 s',
    lastsMs: 5_000,
    strike: (proxy) => proxy.stall(true),
    mend: (proxy) => proxy.stall(false),
  },
  {
    name: 'the server is 50 ms away for 5 s',
    lastsMs: 5_000,
    strike: (proxy) => proxy.delay(25),
    mend: (proxy) => proxy.delay(0),
  },
  {
    name: 'what clients send is lost for 2 s, and their connections never end',
    lastsMs: 2_000,
    strike: (proxy) => proxy.lose('questions'),
    mend: (proxy) => proxy.lose(null),
  },
  {
    name: 'what the server sends is lost for 2 s, and its connections never end',
    lastsMs: 2_000,
    strike: (proxy) => proxy.lose('answers'),
    mend: (proxy) => proxy.lose(null),
  },
];

async function stageOf(host: () => Promise<Host>, breach: Breach): Promise<Stage> {
  const { proxy, managing, guarding, close } = await openPlace(await host());
  return {
    managing,
    guarding,
    strike: async () => breach.strike(proxy),
    mend: async () => breach.mend?.(proxy),
    close,
  };
}

export const NETWORK: readonly Accident[] = Object.entries(HOSTS).flatMap(([engine, host]) =>
  BREACHES.map((breach) => ({
    engine,
    name: breach.name,
    lastsMs: breach.lastsMs,
    ...(LATER.has(engine) && { isLong: true as const }),
    open: () => stageOf(host, breach),
  })),
);
