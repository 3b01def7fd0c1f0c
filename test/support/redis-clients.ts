/** Redis clients of both drivers, in every configuration that services use. */
import { Redis, type RedisOptions } from 'ioredis';
import { createClient, createClientPool, RESP_TYPES } from 'redis';

/** A client and a function that closes it. */
export interface Closing<C> {
  readonly client: C;
  close(): unknown;
}

/** The two drivers. */
export const KINDS = ['node-redis', 'ioredis'] as const;
export type Kind = (typeof KINDS)[number];

/** Swallows the client's own error reports during an outage. */
const ignore = () => {};

export async function nodeRedis(
  url: string,
  options: { RESP?: 2 | 3; disableOfflineQueue?: boolean } = {},
) {
  const client = createClient({ url, RESP: 3, ...options }).on('error', ignore);
  await client.connect();
  return { client, close: () => client.destroy() };
}

/** A client with custom reply types: bytes, maps, numbers as text. */
export async function bufferingNodeRedis(url: string) {
  const { client, close } = await nodeRedis(url);
  const mapping = {
    [RESP_TYPES.BLOB_STRING]: Buffer,
    [RESP_TYPES.MAP]: Map,
    [RESP_TYPES.NUMBER]: String,
  };
  return { client: client.withTypeMapping(mapping), close };
}

export async function nodeRedisPool(url: string) {
  const client = createClientPool({ url }, { minimum: 10, maximum: 10 }).on('error', ignore);
  await client.connect();
  return { client, close: () => client.destroy() };
}

export function ioRedis(url: string, options: RedisOptions & { replyMapping?: 'legacy' } = {}) {
  const client = new Redis(url, options).on('error', ignore);
  return { client, close: () => client.disconnect() };
}

/** Ten connections in turn, because ioredis has no pool. */
export function tenIoRedis(url: string) {
  const clients = Array.from({ length: 10 }, () => ioRedis(url));
  let turn = 0;
  const client = {
    call(command: string, ...args: string[]): Promise<unknown> {
      const next = clients[turn % clients.length] as (typeof clients)[number];
      turn += 1;
      return next.client.call(command, ...args);
    },
  };
  return { client, close: () => clients.map((each) => each.close()) };
}

/** A client of either driver with its defaults. */
export async function connectTo(kind: Kind, url: string) {
  return kind === 'ioredis' ? ioRedis(url) : await nodeRedis(url);
}

/** A client of either driver that fails at once if the server is unreachable. */
export async function connectWithoutQueue(kind: Kind, url: string) {
  if (kind === 'node-redis') return nodeRedis(url, { disableOfflineQueue: true });
  const direct = { enableOfflineQueue: false, lazyConnect: true, maxRetriesPerRequest: 0 };
  const opened = ioRedis(url, direct);
  await opened.client.connect();
  return opened;
}

/** Deletes everything under a test's prefix. */
export async function deleteUnder(url: string, prefix: string): Promise<void> {
  const { client, close } = ioRedis(url);
  const pages = client.scanStream({ match: `${prefix}*`, count: 10_000 });
  for await (const keys of pages as AsyncIterable<string[]>) {
    if (keys.length > 0) await client.del(...keys);
  }
  close();
}
