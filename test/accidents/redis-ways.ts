/**
 * Redis clients, configured as the stores' page recommends, and two processes' stores over them.
 */
import { Cluster, Redis } from 'ioredis';
import { type RedisClient, redisStore } from 'keyscope/stores/redis';
import { createClient, createCluster, createSentinel } from 'redis';
import type { Closing, Kind } from '../support/redis-clients.ts';
import type { Visit } from './place.ts';
import { watchCluster, watchServer } from './redis-watch.ts';

const ignore = () => {};

/**
 * Without timeouts, commands in progress on a lost connection would never be answered, and a dead
 * connection would stay open.
 */
const IOREDIS = {
  autoResendUnfulfilledCommands: false,
  commandTimeout: 2_000,
  socketTimeout: 2_000,
} as const;

/** A port of this machine. */
interface Node {
  readonly port: number;
}

export type Connect = () => Promise<Closing<RedisClient>>;

/** Clients of a single server. */
export function toServer(kind: Kind, { port }: Node): Connect {
  const host = '127.0.0.1';
  if (kind === 'ioredis') return async () => closing(new Redis({ host, port, ...IOREDIS }));
  return () => watchServer(() => createClient({ socket: { host, port } }));
}

/** Clients that ask sentinels for the primary. */
export function throughSentinels(kind: Kind, name: string, sentinels: readonly Node[]): Connect {
  const addresses = sentinels.map(({ port }) => ({ host: '127.0.0.1', port }));
  if (kind === 'ioredis') {
    const options = { sentinels: addresses, name, failoverDetector: true, ...IOREDIS };
    return async () => closing(new Redis(options));
  }
  return async () => connected(createSentinel({ name, sentinelRootNodes: addresses }));
}

/** Clients of a cluster. */
export function toCluster(kind: Kind, masters: readonly Node[]): Connect {
  const addresses = masters.map(({ port }) => ({ host: '127.0.0.1', port }));
  if (kind === 'ioredis') {
    return async () => closing(new Cluster(addresses, { redisOptions: IOREDIS }));
  }
  const rootNodes = addresses.map((socket) => ({ socket }));
  return () => watchCluster(() => createCluster({ rootNodes }));
}

function closing<C extends Redis | Cluster>(client: C): Closing<C> {
  return { client: client.on('error', ignore) as C, close: () => client.disconnect() };
}

interface NodeRedisClient {
  on(event: 'error', listener: () => void): unknown;
  connect(): Promise<unknown>;
  destroy(): unknown;
}

async function connected<C extends NodeRedisClient>(client: C): Promise<Closing<C>> {
  client.on('error', ignore);
  await client.connect();
  return { client, close: () => client.destroy() };
}

/** One process manages keys. The other guards requests, with a separate client for usage. */
export async function waysOver(connect: Connect, prefix?: string): Promise<Visit> {
  const opened = [await connect(), await connect(), await connect()] as const;
  const [managing, guarding, usage] = opened;
  return {
    managing: redisStore(managing.client, { prefix }),
    guarding: redisStore(guarding.client, { prefix, usageClient: usage.client }),
    close: () => Promise.all(opened.map(async ({ close }) => close())),
  };
}
