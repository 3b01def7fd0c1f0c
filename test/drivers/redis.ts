/** The clients of Redis. */
import { type RedisClient, redisStore } from 'keyscope/stores/redis';
import { deleteUnder, ioRedis } from '../support/redis-clients.ts';
import { SERVERS } from '../support/servers.ts';
import { newestServers } from './newest-servers.ts';
import type { Place, Range, Server, Trial, Versions } from './range.ts';

type Options = Readonly<Record<string, unknown>>;

/** The events that both drivers emit. */
interface Emitter {
  on(event: 'error', listener: () => void): unknown;
}

// ── node-redis ──────────────────────────────────────────────────────────────────────────────────

interface NodeRedisClient extends Emitter {
  connect(): Promise<unknown>;
  destroy(): void;
  createPool(options: Options): NodeRedisClient;
  withTypeMapping(mapping: Options): RedisClient;
}

interface NodeRedisDriver {
  createClient(options: Options): NodeRedisClient;
}

function nodeRedis(
  options: string,
  create: (driver: NodeRedisDriver, url: string) => NodeRedisClient,
  wrap: (client: NodeRedisClient) => unknown = (client) => client,
): Trial {
  async function open(loaded: unknown, url: string): Promise<Place> {
    const driver = loaded as NodeRedisDriver;
    const client = create(driver, url);
    client.on('error', () => {});
    await client.connect();
    const prefix = `keyscope-drivers-${crypto.randomUUID()}:`;
    return {
      openStore: () => redisStore(wrap(client) as RedisClient, { prefix }),
      async close() {
        client.destroy();
        await deleteUnder(url, prefix);
      },
    };
  }
  return { options, open };
}

/** Custom reply types, by the byte that announces each type. */
const TYPES: Options = { [byteOf('$')]: Buffer, [byteOf('%')]: Map, [byteOf(':')]: String };

function byteOf(character: string): number {
  return character.charCodeAt(0);
}

const NODE_REDIS: readonly Trial[] = [
  nodeRedis('RESP 2', ({ createClient }, url) => createClient({ url, RESP: 2 })),
  nodeRedis('RESP 3', ({ createClient }, url) => createClient({ url, RESP: 3 })),
  nodeRedis('a pool of 10', ({ createClient }, url) =>
    createClient({ url }).createPool({ minimum: 10, maximum: 10 }),
  ),
  nodeRedis(
    '`withTypeMapping`: Buffer, Map, numbers as text',
    ({ createClient }, url) => createClient({ url, RESP: 3 }),
    (client) => client.withTypeMapping(TYPES),
  ),
  nodeRedis('`commandOptions` with the same', ({ createClient }, url) =>
    createClient({ url, RESP: 3, commandOptions: { typeMapping: TYPES } }),
  ),
];

// ── ioredis and its fork ────────────────────────────────────────────────────────────────────────

interface IoRedisClient extends Emitter {
  disconnect(): void;
}

interface IoRedisDriver {
  readonly default: new (url: string, options: Options) => IoRedisClient;
}

/** @param given Any `keyPrefix` is a placeholder: each trial gets a different one. */
function ioRedisLike(options: string, given: Options): Trial {
  async function open(loaded: unknown, url: string): Promise<Place> {
    const Client = (loaded as IoRedisDriver).default;
    const id = crypto.randomUUID();
    const keyPrefix = 'keyPrefix' in given ? `keyscope-drivers-${id}:` : '';
    const client = new Client(url, { ...given, keyPrefix });
    client.on('error', () => {});
    const prefix = `keyscope-drivers-own-${id}:`;
    return {
      openStore: () => redisStore(client as unknown as RedisClient, { prefix }),
      async close() {
        client.disconnect();
        const outside = keyPrefix === '' ? 0 : await countUnder(url, prefix);
        await deleteUnder(url, prefix);
        await deleteUnder(url, keyPrefix + prefix);
        if (outside > 0) throw new Error(`${outside} keys are without the keyPrefix`);
      },
    };
  }
  return { options, open };
}

async function countUnder(url: string, prefix: string): Promise<number> {
  const { client, close } = ioRedis(url);
  const keys = await client.keys(`${prefix}*`);
  close();
  return keys.length;
}

const IOREDIS: readonly Trial[] = [
  ioRedisLike('defaults', {}),
  ioRedisLike('`keyPrefix`, `enableAutoPipelining`', { keyPrefix: '', enableAutoPipelining: true }),
  ioRedisLike('`keyPrefix`, `stringNumbers`', { keyPrefix: '', stringNumbers: true }),
];

const IOREDIS_6: readonly Trial[] = [
  ioRedisLike('RESP 3, `stringNumbers`', { protocol: 3, stringNumbers: true }),
];

const ofTests: Server = { name: 'Redis', url: () => SERVERS.redis };
const urlAt = (host: string) => `redis://${host}`;
const newest = [...newestServers('Valkey', urlAt), ...newestServers('Redis', urlAt)];

/** Options behave the same on every server, so the newest ones only run the first. */
function rangesOf(client: string, versions: Versions, trials: readonly Trial[]): readonly Range[] {
  return [
    { client, ...versions, server: ofTests, trials },
    ...newest.map((server) => ({ client, ...versions, server, trials: trials.slice(0, 1) })),
  ];
}

export const REDIS: readonly Range[] = [
  ...rangesOf('`redis`', { lowest: 'redis-lowest', newest: 'redis' }, NODE_REDIS),
  ...rangesOf('`ioredis`', { lowest: 'ioredis-lowest', newest: 'ioredis' }, IOREDIS),
  ...rangesOf('`ioredis` 6', { lowest: 'ioredis', newest: 'ioredis' }, IOREDIS_6),
  ...rangesOf('`iovalkey`', { lowest: 'iovalkey-lowest', newest: 'iovalkey' }, IOREDIS),
];
