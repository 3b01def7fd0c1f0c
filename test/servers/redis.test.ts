import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import type { Awaitable, KeyRecord, KeyStore } from 'keyscope';
import { digestKey, generateKey, isAccessError, isStoreError } from 'keyscope';
import { migrate, type RedisClient, redisInvalidation, redisStore } from 'keyscope/stores/redis';
import { storeContract } from 'keyscope/testing';
import { createClient, createClientPool, createCluster, createSentinel } from 'redis';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
} from 'vitest';
import { complaint } from '../support/complaint.ts';
import {
  AUTHORITY,
  HOUR,
  issue,
  OTHER,
  OWN,
  PEPPER,
  PLAIN,
  setUp,
  storeError,
  thrown,
} from '../support/keyring.ts';
import { expectLooseCalls } from '../support/loose.ts';
import {
  bufferingNodeRedis,
  type Closing,
  commandsOf,
  deleteUnder,
  describeWithRedis,
  eventually,
  ioRedis,
  nodeRedis,
  nodeRedisPool,
  type OwnRedis,
  startRedis,
  tenIoRedis,
} from '../support/redis.ts';
import { describeOn, SERVERS } from '../support/servers.ts';

const URL = SERVERS.redis;
const prefix = `keyscope-test-${crypto.randomUUID()}:`;
const CLIENTS: Readonly<Record<string, (url: string) => Awaitable<Closing<RedisClient>>>> = {
  'node-redis': nodeRedis,
  'node-redis over RESP2': (url) => nodeRedis(url, { RESP: 2 }),
  'node-redis with types of its own': bufferingNodeRedis,
  'a node-redis pool of 10': nodeRedisPool,
  ioredis: (url) => ioRedis(url),
  'ioredis with numbers as text, over RESP3': (url) =>
    ioRedis(url, { stringNumbers: true, protocol: 3 }),
  'ioredis with automatic pipelines': (url) => ioRedis(url, { enableAutoPipelining: true }),
  'ioredis with a prefix of its own': (url) => ioRedis(url, { keyPrefix: `${prefix}own:` }),
  'ten of ioredis': tenIoRedis,
};
const KINDS = ['node-redis', 'ioredis'] as const;

const read = (path: string) => readFileSync(`${import.meta.dirname}/../../${path}`, 'utf8');

const onRedis = await describeOn('redis');

// ── The contract ──────────────────────────────────────────────────────────────────────────────────────

onRedis('the contract', () => {
  afterAll(() => deleteUnder(URL, prefix));

  describe.each(Object.entries(CLIENTS))('with %s', (name, connect) => {
    let opened: Closing<RedisClient>;
    beforeAll(async () => {
      opened = await connect(URL);
    });
    afterAll(() => opened.close());
    storeContract(test, () =>
      redisStore(opened.client, { prefix: prefix + Object.keys(CLIENTS).indexOf(name) }),
    );
  });
});

// ── The client ────────────────────────────────────────────────────────────────────────────────────────

const sentinelOptions = { name: 'mymaster', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] };

describe('the client', () => {
  // With `stage:` and `prod:` on one server, a key of the one was let in by the other.
  test('of node-redis with a keyPrefix, which raw commands do not have, wants a prefix', () => {
    const settings = { url: URL, keyPrefix: 'stage:' };
    const clients = [
      createClient(settings),
      createClientPool(settings),
      createCluster({ rootNodes: [], keyPrefix: 'a' }),
    ];
    for (const client of clients) {
      const told =
        'redisStore: prefix: pass one; a keyPrefix of node-redis does not come before raw commands';
      expect(complaint(() => redisStore(client as RedisClient))).toBe(told);
      expect(redisStore(client as RedisClient, { prefix: 'stage:keyscope:' })).toHaveProperty(
        'findById',
      );
    }
  });

  test('is told where it is none', async () => {
    const odd = [
      undefined,
      null,
      URL,
      5,
      {},
      [],
      { call: 5 },
      redisStore,
      Redis,
      createSentinel(sentinelOptions),
    ];
    for (const client of odd) {
      const message = /^redisStore: pass a client, a pool or a cluster of redis/;
      expect(() => redisStore(client as RedisClient)).toThrow(message);
      expect(() => redisStore(client as RedisClient)).toThrow(TypeError);
      expect(await thrown(() => migrate(client as RedisClient))).toBeInstanceOf(TypeError);
    }
  });

  test('of node-redis that finds its primary through Sentinel does not compile', () => {
    // @ts-expect-error sendCommand has other arguments there
    expect(() => redisStore(createSentinel(sentinelOptions))).toThrow(TypeError);
  });

  test('is asked nothing before the first operation', () => {
    const calls: string[] = [];
    redisStore({ call: async (command) => calls.push(command) });
    expect(calls).toEqual([]);
  });

  // node-redis says that it is closed, and not what to do.
  test('of node-redis that nobody has connected is told so', async () => {
    for (const client of [createClient(), createClientPool()]) {
      const told = 'redis: The client is closed; await client.connect() first';
      await expect(async () => redisStore(client).findById(OWN)).rejects.toThrow(told);
    }
  });

  test('of one server of a cluster is told so', async () => {
    const client = { call: () => Promise.reject(new Error('MOVED 13111 10.0.0.1:6379')) };
    const told =
      'redis: MOVED 13111 10.0.0.1:6379; this server is one of a cluster: pass a client of the cluster';
    await expect(async () => redisStore(client).findById(OWN)).rejects.toThrow(told);
  });

  // They answer nothing at once, or with themselves, and it was said that Redis 7 or newer is
  // needed.
  onRedis('that only gathers commands, or answers callbacks,', () => {
    test.each(['legacy()', 'pipeline()', 'multi()'])('such as %s, is told so', async (what) => {
      const [node, io] = [await nodeRedis(URL), ioRedis(URL)];
      onTestFinished(() => [node, io].forEach((each) => void each.close()));
      const gathering = {
        'legacy()': () => (node.client as ReturnType<typeof createClient>).legacy(),
        'pipeline()': () => (io.client as Redis).pipeline(),
        'multi()': () => (io.client as Redis).multi(),
      }[what];
      const store = redisStore(gathering?.() as unknown as RedisClient);
      await expect(async () => store.findById(OWN)).rejects.toThrow(
        'keyscope: the client does not answer; pass the client itself',
      );
    });
  });

  test('prefix is printable, and there is no other option', () => {
    const client = { call: async () => null };
    for (const odd of ['', ' ', 'a b', 'ключ', 'a\n', 'x'.repeat(101), 5, null]) {
      expect(() => redisStore(client, { prefix: odd as string })).toThrow(
        /^redisStore: prefix: pass 1 to 100/,
      );
    }
    expect(() => redisStore(client, { prefx: 'a' } as object)).toThrow(
      'unknown field "prefx"; it takes prefix',
    );
    for (const fine of ['a', 'x'.repeat(100), '{keyscope}:', undefined])
      redisStore(client, { prefix: fine });
  });
});

// ── A server of our own ───────────────────────────────────────────────────────────────────────────────

let made = 0;

/** A record without a pepper, so that no seal is needed, and its key. */
function unsealed(given: Partial<KeyRecord> = {}): {
  readonly key: string;
  readonly record: KeyRecord;
} {
  const key = generateKey({ prefix: 'acme' });
  const fixed = {
    name: 'ci',
    seal: null,
    entityUuid: OWN,
    accessibleEntities: [OWN],
    scopes: ['threats:read'],
  };
  const open = {
    justification: null,
    metadata: {},
    createdAt: made++,
    expiresAt: null,
    rotatedFrom: null,
  };
  const marks = { revokedAt: null, retireAt: null, lastUsedAt: null, scopesUsed: {} };
  const record = {
    keyId: crypto.randomUUID(),
    digest: digestKey(key),
    ...fixed,
    ...open,
    ...marks,
    ...given,
  };
  return { key, record };
}

const unpeppered = (store: KeyStore) => setUp({ store, peppers: 'none' }).keyring;

/** What came of it, for people: `passed`, or the code and the reason. */
async function outcome(act: () => Promise<unknown>): Promise<string> {
  try {
    await act();
    return 'passed';
  } catch (error) {
    if (isStoreError(error)) return 'StoreError';
    return isAccessError(error) ? `${error.code} ${error.reason}` : String(error);
  }
}

/** What stands behind a `StoreError`. */
async function causeOf(act: () => Promise<unknown>): Promise<string> {
  const error = await thrown(act);
  if (!isStoreError(error)) throw error;
  return String(error.cause);
}

describeWithRedis('a server', () => {
  let own: OwnRedis;
  let opened: readonly Closing<RedisClient>[];
  beforeAll(async () => {
    own = await startRedis();
    opened = [await nodeRedis(own.url), ioRedis(own.url)];
  });
  afterAll(async () => {
    for (const each of opened) each.close();
    await own.remove();
  });
  beforeEach(async () => {
    await own.ask('FLUSHALL');
    await own.ask('CONFIG', 'SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction');
  });

  const client = (kind: (typeof KINDS)[number]) =>
    (opened[KINDS.indexOf(kind)] as Closing<RedisClient>).client;

  describe.each(KINDS)('with %s', (kind) => {
    // ── Start ───────────────────────────────────────────────────────────────────────────────────────

    test.each(['allkeys-lru', 'allkeys-lfu', 'allkeys-random'])(
      'that may evict by %s is refused',
      async (policy) => {
        await own.ask('CONFIG', 'SET', 'maxmemory-policy', policy);
        const store = redisStore(client(kind));
        const { keyring } = setUp({ store });
        const message =
          'keyscope: a Redis server cannot hold keys: set maxmemory-policy to noeviction';
        expect(await causeOf(() => issue(keyring))).toContain(message);
        await expect(migrate(client(kind))).rejects.toThrow(message);
        expect(await own.ask('DBSIZE')).toBe(0);
        // Put right, it is used without a restart.
        await own.ask('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
        await issue(keyring);
      },
    );

    test.each(['volatile-lru', 'volatile-ttl'])(
      'that evicts by %s is used: nothing here has a time to live',
      async (policy) => {
        await own.ask('CONFIG', 'SET', 'maxmemory-policy', policy);
        const { keyring } = setUp({ store: redisStore(client(kind)) });
        await issue(keyring);
        const keys = (await own.ask('KEYS', '*')) as string[];
        expect(keys).toHaveLength(5);
        for (const key of keys) expect(await own.ask('TTL', key), key).toBe(-1);
      },
    );

    test('whose keys a newer release has written is refused, and left', async () => {
      for (const [version, problem] of [
        ['2', 'have schema 2 and this release knows 1; upgrade it'],
        ['x', 'have schema that is no version'],
        ['', 'have schema that is no version'],
      ] as const) {
        await own.ask('SET', 'keyscope:schema', version);
        await expect(migrate(client(kind))).rejects.toThrow(problem);
        expect(
          await causeOf(() => issue(setUp({ store: redisStore(client(kind)) }).keyring)),
        ).toContain(problem);
        expect(await own.ask('GET', 'keyscope:schema')).toBe(version);
      }
      await own.ask('DEL', 'keyscope:schema');
      await own.ask('LPUSH', 'keyscope:schema', '1');
      await expect(migrate(client(kind))).rejects.toThrow('WRONGTYPE');
    });

    test('is migrated by eight at once, and then only read', async () => {
      await Promise.all(Array.from({ length: 8 }, () => migrate(client(kind))));
      expect(await own.ask('GET', 'keyscope:schema')).toBe('1');
      expect(await own.ask('DBSIZE')).toBe(1);
      expect(await commandsOf(own, () => migrate(client(kind)))).toEqual({ get: 1 });
    });

    test('with a prefix keeps stores apart', async () => {
      const [a, b] = ['a:', 'b:'].map((each) => redisStore(client(kind), { prefix: each })) as [
        KeyStore,
        KeyStore,
      ];
      const { record } = unsealed();
      await a.insert(record);
      expect([await a.findById(record.keyId), await b.findById(record.keyId)]).toEqual([
        record,
        null,
      ]);
      await b.insert(record);
      const keys = (await own.ask('KEYS', '*')) as string[];
      expect(keys.filter((key) => key.startsWith('a:'))).toHaveLength(5);
      expect(keys.filter((key) => key.startsWith('b:'))).toHaveLength(5);
    });

    // ── Commands ────────────────────────────────────────────────────────────────────────────────────

    test('is asked for no more than this', async () => {
      const store = redisStore(client(kind));
      const { keyring } = setUp({ store });
      const { key, info } = await issue(keyring);
      const { record } = unsealed({ entityUuid: OTHER, accessibleEntities: [OTHER] });
      const entry = (keyId: string) => ({
        keyId,
        lastUsedAt: 5,
        scopesUsed: { 'threats:read': 5 },
      });
      const expected: readonly (readonly [() => Awaitable<unknown>, Record<string, number>])[] = [
        // A verification writes nothing.
        [() => keyring.verify(key), { hgetall: 1 }],
        [() => store.insert(record), { set: 1, zadd: 2, eval: 1, exists: 1, hset: 1 }],
        [() => store.findByDigest([record.digest, 's1$a', 's1$b']), { hgetall: 3 }],
        [() => store.findById(record.keyId), { get: 1, hgetall: 1 }],
        [
          () => store.list({ entityUuid: OTHER, after: null, limit: 100 }),
          { zrange: 1, hgetall: 1 },
        ],
        [
          () => store.touch([entry(record.keyId), entry(OWN)]),
          { get: 2, eval: 1, hget: 3, hset: 2 },
        ],
        [
          () => store.markEnded(info.keyId, { revokedAt: 5 }),
          { get: 1, eval: 1, hmget: 1, hset: 1 },
        ],
        [() => store.markEnded(info.keyId, { revokedAt: 5 }), { get: 1, eval: 1, hmget: 1 }],
        [() => store.summarize(5), { zrange: 3, hgetall: 2 }],
      ];
      for (const [act, commands] of expected) expect(await commandsOf(own, act)).toEqual(commands);
    });

    test('needs the commands that the documentation lists, and no other', async () => {
      const commands =
        /`(\+get .+)`/.exec(read('src/stores/redis/store.ts'))?.[1]?.split(' ') ?? [];
      await own.ask(
        'ACL',
        'SETUSER',
        'keys',
        'reset',
        'on',
        '>secret',
        '~keyscope:*',
        ...commands,
        '+hello',
        '+client',
      );
      const url = own.url.replace('//', '//keys:secret@');
      const { client: limited, close } = kind === 'ioredis' ? ioRedis(url) : await nodeRedis(url);
      const { keyring, store, clock } = setUp({ store: redisStore(limited) });
      const { key, info } = await issue(keyring);
      await keyring.rotate(info.keyId, { overlapMs: HOUR }, AUTHORITY);
      await keyring.revoke(info.keyId, AUTHORITY);
      await store.touch([{ keyId: info.keyId, lastUsedAt: 5, scopesUsed: {} }]);
      expect(await outcome(() => keyring.verify(key))).toBe('invalid_token revoked');
      expect((await keyring.list({}, AUTHORITY)).keys).toHaveLength(2);
      expect(await store.summarize(clock.now())).toHaveLength(1);
      const row = await store.findById(info.keyId);
      await expect(store.insert({ ...(row as KeyRecord), keyId: OTHER })).rejects.toThrow(
        'digest exists already',
      );
      close();
    });

    test('forgets its scripts, and nothing is lost', async () => {
      const { keyring } = setUp({ store: redisStore(client(kind)) });
      for (let round = 0; round < 2; round++) {
        await own.ask('SCRIPT', 'FLUSH');
        const { info } = await issue(keyring);
        await own.ask('SCRIPT', 'FLUSH');
        await keyring.revoke(info.keyId, AUTHORITY);
      }
    });

    test('that is full still ends keys', async () => {
      const { keyring, store } = setUp({ store: redisStore(client(kind)) });
      const { key, info } = await issue(keyring);
      const other = await issue(keyring);
      await own.ask('CONFIG', 'SET', 'maxmemory', '1');
      expect(await causeOf(() => issue(keyring))).toContain('OOM');
      expect(await outcome(() => keyring.verify(key))).toBe('passed');
      await keyring.revoke(info.keyId, AUTHORITY);
      expect(await outcome(() => keyring.verify(key))).toBe('invalid_token revoked');
      expect(await store.markEnded(other.info.keyId, { retireAt: 5 })).toBe(true);
      await own.ask('CONFIG', 'SET', 'maxmemory', '0');
      await issue(keyring);
    });

    test('a batch of usage goes out in parts, and one damaged key keeps no other from its usage', async () => {
      const store = redisStore(client(kind));
      const records = Array.from({ length: 1201 }, () => unsealed().record);
      await Promise.all(records.map((record) => store.insert(record)));
      const [first, second, last] = [records[0], records[1], records[1200]] as [
        KeyRecord,
        KeyRecord,
        KeyRecord,
      ];
      for (const key of [`keyscope:id:${first.keyId}`, `keyscope:rec:${second.digest}`]) {
        await own.ask('DEL', key);
        await own.ask('LPUSH', key, 'x');
      }
      const touched = () =>
        store.touch(records.map(({ keyId }) => ({ keyId, lastUsedAt: 7, scopesUsed: {} })));
      await expect(touched()).rejects.toThrow('WRONGTYPE');
      expect((await store.findById(last.keyId))?.lastUsedAt).toBe(7);
      await own.ask('DEL', `keyscope:id:${first.keyId}`);
      await touched();
    });

    test('listings pass over entries without a record, however many', async () => {
      const store = redisStore(client(kind));
      const records = Array.from({ length: 30 }, () => unsealed().record);
      for (const record of records) await store.insert(record);
      // Two of ten stay, so that a page can bring more than is still wanted.
      const orphans = records.filter((_, i) => i % 10 > 1);
      for (const { digest } of orphans) await own.ask('DEL', `keyscope:rec:${digest}`);
      await own.ask('ZADD', `keyscope:entity:${OWN}`, '0', 'what is this');
      const expected = records.filter((record) => !orphans.includes(record)).reverse();
      for (const limit of [1, 2, 3, 5, 100]) {
        const rows = await store.list({ entityUuid: OWN, after: null, limit });
        expect(rows).toEqual(expected.slice(0, limit));
      }
      expect(await store.summarize(5)).toEqual([{ scheme: 's1', live: 6, lastUsedAt: null }]);
      for (const { keyId } of orphans) {
        expect(await store.findById(keyId)).toBe(null);
        expect(await store.markEnded(keyId, { revokedAt: 5 })).toBe(false);
      }
    });

    test('counts the keys of now where it is given no time, and lists from the beginning', async () => {
      const store = redisStore(client(kind));
      await store.insert(unsealed({ expiresAt: Date.now() - 1 }).record);
      await store.insert(unsealed({ expiresAt: Date.now() + 60_000 }).record);
      const summarize = store.summarize as () => unknown;
      expect(await summarize()).toEqual([{ scheme: 's1', live: 1, lastUsedAt: null }]);
      await expectLooseCalls(store, OWN);
    });

    test('counts the keys of more entities than one page holds', async () => {
      const store = redisStore(client(kind));
      await Promise.all(
        Array.from({ length: 130 }, (_, i) => {
          const entityUuid = crypto.randomUUID();
          const { record } = unsealed({
            entityUuid,
            accessibleEntities: [entityUuid],
            lastUsedAt: i,
          });
          return store.insert(record);
        }),
      );
      await Promise.all(Array.from({ length: 250 }, () => store.insert(unsealed().record)));
      expect(await store.summarize(5)).toEqual([{ scheme: 's1', live: 380, lastUsedAt: 129 }]);
    });

    test('says what is wrong without a digest', async () => {
      const store = redisStore(client(kind));
      const { record } = unsealed();
      await store.insert(record);
      const key = `keyscope:rec:${record.digest}`;
      await own.ask('DEL', key);
      await own.ask('LPUSH', key, 'x');
      await own.ask('ACL', 'SETUSER', 'default', '-eval');
      const acts: readonly (() => Awaitable<unknown>)[] = [
        () => store.findByDigest([record.digest]),
        () => store.findById(record.keyId),
        () => store.insert(unsealed({ digest: record.digest }).record),
        () => store.markEnded(record.keyId, { revokedAt: 5 }),
        () => store.list({ entityUuid: OWN, after: null, limit: 5 }),
      ];
      for (const act of acts) {
        const error = await thrown(async () => act());
        expect(inspect(error, { showHidden: true, depth: 9 })).toMatch(
          /redis: (?:WRONGTYPE|NOPERM)/,
        );
        expect(inspect(error, { showHidden: true, depth: 9 })).not.toContain(
          record.digest.slice(-16),
        );
      }
      await own.ask('ACL', 'SETUSER', 'default', '+eval');
    });
  });

  test('that is a replica is refused', async () => {
    const replica = await startRedis('--replicaof', '127.0.0.1', String(own.port));
    onTestFinished(replica.remove);
    for (const kind of KINDS) {
      const other = kind === 'ioredis' ? ioRedis(replica.url) : await nodeRedis(replica.url);
      await expect(migrate(other.client)).rejects.toThrow(
        'this is a replica; connect to the primary',
      );
      const { keyring } = setUp({ store: redisStore(other.client) });
      expect(await causeOf(() => keyring.verify(generateKey({ prefix: 'acme' })))).toContain(
        'this is a replica',
      );
      other.close();
    }
  });

  test.each([
    [
      'older than Redis 7',
      'redis_version:6.2.14\r\nrole:master\r\nmaxmemory_policy:noeviction',
      'Redis 7 or newer is needed',
    ],
    ['silent about its policy', 'redis_version:7.0.0\r\nrole:master', 'set maxmemory-policy'],
    ['of another make', 'no lines', 'Redis 7 or newer is needed'],
  ])('that is %s is refused', async (_name, info, problem) => {
    await expect(
      migrate({ call: async (command) => (command === 'INFO' ? info : null) }),
    ).rejects.toThrow(problem);
  });

  test('of a cluster whose client names no primary is not asked, so it is refused', async () => {
    const silent = {
      masters: [],
      nodeClient: () => ioRedis(own.url).client,
      sendCommand: async () => null,
    };
    await expect(migrate(silent as unknown as RedisClient)).rejects.toThrow(
      'the client knows no primary; connect it',
    );
  });

  /** A client that counts: how many commands it got, and how many at once. */
  function counting(answer: (command: string, ...args: string[]) => unknown) {
    const counts = { asked: 0, most: 0 };
    let underWay = 0;
    const call = async (command: string, ...args: string[]) => {
      if (command === 'INFO')
        return 'redis_version:7.0.0\r\nrole:master\r\nmaxmemory_policy:noeviction';
      if (args[0] === 'keyscope:schema') return '1';
      underWay += 1;
      counts.asked += 1;
      counts.most = Math.max(counts.most, underWay);
      await new Promise((resolve) => setImmediate(resolve));
      underWay -= 1;
      return answer(command, ...args);
    };
    return { store: redisStore({ call }), counts };
  }

  test('gets a batch of usage 500 at a time, and nothing more of it once it is away', async () => {
    let away = false;
    const { store, counts } = counting((command) => {
      if (away) throw new Error('away');
      return command === 'GET' ? 'a digest' : 1;
    });
    const entries = Array.from({ length: 1201 }, () => ({
      keyId: crypto.randomUUID(),
      lastUsedAt: 7,
      scopesUsed: {},
    }));
    const touch = async () => store.touch(entries);
    await touch();
    expect(counts).toEqual({ asked: 2 * 1201, most: 500 });
    [away, counts.asked] = [true, 0];
    await expect(touch()).rejects.toThrow('away');
    expect(counts.asked).toBe(500);
  });

  // Of 50 entities with 100 keys each it got 5,000 commands at once, and every request waited for
  // them.
  test('is asked for a summary 500 commands at a time', async () => {
    const { store, counts } = counting((command, key, from) => {
      if (command === 'HGETALL')
        return ['digest', '"s1$x"', 'revokedAt', 'null', 'retireAt', 'null', 'expiresAt', 'null'];
      if (from?.startsWith('(')) return [];
      return Array.from(
        { length: key === 'keyscope:entities' ? 50 : 100 },
        (_, i) => `${i}:x:s1$x`,
      );
    });
    expect(await store.summarize(5)).toEqual([{ scheme: 's1', live: 5000, lastUsedAt: null }]);
    expect(counts).toEqual({ asked: 2 + 50 * 102, most: 500 });
  });

  test('that quotes a key says so without the digest', async () => {
    const { digest } = unsealed().record;
    const quoting = {
      call: () => Promise.reject(new Error(`ERR nobody may read 'keyscope:rec:${digest}'`)),
    };
    const error = await thrown(async () => redisStore(quoting).findByDigest([digest]));
    expect(String(error)).toMatch(/^Error: redis: ERR nobody may read 'keyscope:rec:/);
    expect(String(error)).not.toContain(digest.slice(-16));
  });

  test('that does not know a command says so without the arguments', async () => {
    const bare = await startRedis('--rename-command', 'EVAL', '');
    onTestFinished(bare.remove);
    const { client: other, close } = ioRedis(bare.url);
    const error = await thrown(async () => redisStore(other).insert(unsealed().record));
    expect(String(error)).toBe("Error: redis: ERR unknown command 'EVAL'…");
    close();
  });

  test('look-ups with several digests go out together', async () => {
    const { record } = unsealed();
    await redisStore(client('ioredis')).insert(record);
    let waiting = 0;
    let most = 0;
    const slow: RedisClient = {
      async call(command, ...args) {
        most = Math.max(most, ++waiting);
        const answer = await (client('ioredis') as Redis).call(command, ...args);
        waiting--;
        return answer;
      },
    };
    expect(await redisStore(slow).findByDigest(['s1$a', 's1$b', record.digest])).toEqual([record]);
    expect(most).toBe(3);
  });

  // ── A crash in the middle of an insert ──────────────────────────────────────────────────────────────

  type How = 'is not sent' | 'is sent, and its answer lost' | 'is sent twice';

  /** A client that breaks at the n-th command from now on, as a process that ends there. */
  function breaking(n: number, how: How): { readonly client: RedisClient; arm(): void } {
    let left = Number.POSITIVE_INFINITY;
    const real = client('ioredis') as Redis;
    return {
      arm: () => {
        left = n;
      },
      client: {
        async call(command, ...args) {
          left--;
          if (left > 0) return real.call(command, ...args);
          if (left < 0 && how !== 'is sent twice') throw new Error('the process has ended');
          if (how === 'is not sent') throw new Error('the process has ended');
          const answer = await real.call(command, ...args);
          if (how === 'is sent twice') return left === 0 ? real.call(command, ...args) : answer;
          throw new Error('the process has ended');
        },
      },
    };
  }

  async function crashed(record: KeyRecord, n: number, how: How): Promise<string> {
    const { client: broken, arm } = breaking(n, how);
    const store = redisStore(broken);
    await store.findById(OTHER);
    arm();
    return Promise.resolve(store.insert(record)).then(
      () => 'inserted',
      (error: unknown) => String(error),
    );
  }

  const STEPS = [1, 2, 3, 4, 5];

  describe.each(['is not sent', 'is sent, and its answer lost', 'is sent twice'] as const)(
    'a command that %s',
    (how) => {
      test.each(STEPS)(
        'leaves no usable key that cannot be found and revoked: command %i of an insert',
        async (n) => {
          const store = redisStore(client('ioredis'));
          const keyring = unpeppered(store);
          const { key, record } = unsealed();
          const came = await crashed(record, n, how);
          const usable = (await outcome(() => keyring.verify(key))) === 'passed';
          const written =
            n === 5 || (n === 4 && how !== 'is not sent') || (how === 'is sent twice' && n !== 1);
          expect({ came, usable }).toEqual({
            came: expect.stringMatching(n === 5 ? /^inserted$/ : /./),
            usable: written,
          });
          const listed = await store.list({ entityUuid: OWN, after: null, limit: 10 });
          expect(listed).toEqual(usable ? [record] : []);
          expect(await store.findById(record.keyId)).toEqual(usable ? record : null);
          expect(await store.summarize(5)).toEqual(
            usable ? [{ scheme: 's1', live: 1, lastUsedAt: null }] : [],
          );
          if (usable) {
            await keyring.revoke(record.keyId, AUTHORITY);
            expect(await outcome(() => keyring.verify(key))).toBe('invalid_token revoked');
          } else {
            // What is left behind is in nobody's way.
            const again = { ...record, keyId: crypto.randomUUID() };
            await store.insert(again);
            expect(await store.list({ entityUuid: OWN, after: null, limit: 10 })).toEqual([again]);
            expect(await store.findById(record.keyId)).toBe(null);
            expect(await store.markEnded(record.keyId, { revokedAt: 5 })).toBe(false);
            await store.touch([{ keyId: record.keyId, lastUsedAt: 5, scopesUsed: {} }]);
            expect(await outcome(() => keyring.verify(key))).toBe('passed');
          }
        },
      );

      test.each([...STEPS, 6, 7])(
        'of one that loses its digest leaves the winner alone: command %i',
        async (n) => {
          const store = redisStore(client('ioredis'));
          const { record } = unsealed();
          await store.insert(record);
          const loser = {
            ...record,
            keyId: crypto.randomUUID(),
            entityUuid: OTHER,
            accessibleEntities: [OTHER],
          };
          expect(await crashed(loser, n, how)).toMatch(/^Error: /);
          expect(await store.findById(record.keyId)).toEqual(record);
          expect(await store.findByDigest([record.digest])).toEqual([record]);
          expect(await store.list({ entityUuid: OWN, after: null, limit: 10 })).toEqual([record]);
          expect(await store.findById(loser.keyId)).toBe(null);
          expect(await store.list({ entityUuid: OTHER, after: null, limit: 10 })).toEqual([]);
          expect(await store.markEnded(loser.keyId, { revokedAt: 5 })).toBe(false);
          await store.touch([{ keyId: loser.keyId, lastUsedAt: 5, scopesUsed: {} }]);
          expect(await store.findById(record.keyId)).toEqual(record);
        },
      );
    },
  );

  test('an insert that is refused leaves nothing of its own and takes nothing of the other', async () => {
    const store = redisStore(client('ioredis'));
    const { record } = unsealed();
    await store.insert(record);
    const before = await own.ask('DEBUG', 'DIGEST').catch(() => null);
    const keys = async () => ((await own.ask('KEYS', '*')) as string[]).sort();
    const known = await keys();
    await expect(store.insert({ ...record, keyId: OTHER })).rejects.toThrow(
      'keyscope: a key with this digest exists already',
    );
    await expect(store.insert({ ...record, digest: 's1$other' })).rejects.toThrow(
      'keyscope: a key with this id exists already',
    );
    await expect(store.insert(record)).rejects.toThrow(
      'keyscope: a key with this id exists already',
    );
    expect(await keys()).toEqual(known);
    expect(await own.ask('ZCARD', `keyscope:entity:${OWN}`)).toBe(1);
    expect(before).toEqual(await own.ask('DEBUG', 'DIGEST').catch(() => null));
  });
});

// ── Outage, restart, persistence ──────────────────────────────────────────────────────────────────────

describeWithRedis.each(KINDS)('an outage, with %s', (kind) => {
  let own: OwnRedis;
  let opened: Closing<RedisClient>;
  beforeEach(async () => {
    own = await startRedis('--appendonly', 'yes', '--appendfsync', 'always');
    opened = kind === 'ioredis' ? ioRedis(own.url) : await nodeRedis(own.url);
  });
  afterEach(async () => {
    opened.close();
    await own.remove();
  });

  const ring = (storeTimeoutMs = 300) =>
    setUp({ store: redisStore(opened.client), storeTimeoutMs }).keyring;

  test('is a StoreError in time, and the server is used again once it is back', async () => {
    const keyring = ring();
    const { key, info } = await issue(keyring);
    await own.stop();
    const acts = [
      () => keyring.verify(key),
      () => keyring.list({}, AUTHORITY),
      () => keyring.get(info.keyId, AUTHORITY),
      () => issue(keyring),
      () => keyring.revoke(info.keyId, AUTHORITY),
    ];
    for (const act of acts) expect(await outcome(act)).toBe('StoreError');
    await own.start();
    await eventually(
      async () => (await outcome(() => keyring.verify(key))) === 'passed',
      'the key is verified again',
    );
    await keyring.revoke(info.keyId, AUTHORITY);
    expect(await outcome(() => keyring.verify(key))).toBe('invalid_token revoked');
  });

  test('before the first operation is one too, and the next operation tries again', async () => {
    await own.stop();
    const keyring = ring();
    expect(await outcome(() => issue(keyring))).toBe('StoreError');
    await own.start();
    await eventually(
      async () => (await outcome(() => issue(keyring))) === 'passed',
      'a key is issued',
    );
  });

  test('fails at once where the client queues nothing', async () => {
    const { client, close } =
      kind === 'ioredis'
        ? ioRedis(own.url, { enableOfflineQueue: false, lazyConnect: true })
        : await nodeRedis(own.url, { disableOfflineQueue: true });
    if (client instanceof Redis) await client.connect();
    const { keyring } = setUp({ store: redisStore(client), storeTimeoutMs: 60_000 });
    const { key, info } = await issue(keyring);
    await own.stop();
    await eventually(
      async () => (await outcome(() => keyring.verify(key))) === 'StoreError',
      'it is noticed',
    );
    const { message } = await storeError(() => keyring.revoke(info.keyId, AUTHORITY));
    expect(message).toBe('store.findById failed: see cause');
    await own.start();
    await eventually(
      async () => (await outcome(() => keyring.verify(key))) === 'passed',
      'it is back',
    );
    close();
  });

  test('that kills the server takes back nothing where every write is synced', async () => {
    const keyring = ring(2000);
    const { key, info } = await issue(keyring);
    const live = await issue(keyring);
    await keyring.revoke(info.keyId, AUTHORITY);
    await own.stop('SIGKILL');
    await own.start();
    await eventually(
      async () => (await outcome(() => keyring.verify(live.key))) === 'passed',
      'the server is back',
    );
    expect(await outcome(() => keyring.verify(key))).toBe('invalid_token revoked');
  });

  test('that loses everything leaves every key unknown, and the store in use', async () => {
    const keyring = ring(2000);
    const { key } = await issue(keyring);
    await own.ask('FLUSHALL');
    expect(await outcome(() => keyring.verify(key))).toBe('invalid_token unknown_key');
    const next = await issue(keyring);
    expect(await outcome(() => keyring.verify(next.key))).toBe('passed');
  });
});

// ── What somebody edited by hand ──────────────────────────────────────────────────────────────────────

const attackers = generateKey({ prefix: 'acme' });
const json = (value: unknown) => JSON.stringify(value);

/** Field → values that widen a key, or that are merely wrong, as they would stand in the hash. */
const EDITS: Readonly<Record<string, readonly string[]>> = {
  keyId: [json(OTHER), '""', '"ABC"', '5'],
  name: ['"other"', '""', '"CI"'],
  digest: [json(digestKey(attackers, PEPPER)), json(digestKey(attackers)), '""', '"h1.p1$ab"'],
  seal: ['""', json('a'.repeat(64)), '5'],
  entityUuid: [json(OTHER), '""', json(OWN.toUpperCase())],
  accessibleEntities: [json([OWN, OTHER]), '[]', json([OTHER]), '[5]', '[[]]', '{}'],
  scopes: [
    '["threats:read","threats:write"]',
    '["threats:*"]',
    '["*:*"]',
    '[]',
    '["threats:read","threats:read"]',
    '[null]',
    '["Threats:read"]',
    '{"0":"threats:read"}',
  ],
  justification: ['"because"', '""'],
  metadata: ['{"team":"blue"}', '{"a":5}', '{"__proto__":"x"}', '[]'],
  createdAt: ['1', '0', '-1', '1152921504606846976', '1e400', '"1700000000000"', '1.5'],
  expiresAt: ['null', '0', '1800000000001', '1152921504606846976', '9e15'],
  rotatedFrom: [json(OTHER), '""'],
};
/** Outside the seal: a time there is believed, so only what is none. */
const MARKS = ['revokedAt', 'retireAt', 'lastUsedAt', 'used:threats:read'];
const GARBAGE = [
  'none',
  '',
  '[',
  '{',
  '"text"',
  '"1"',
  '[]',
  '{}',
  'true',
  '1.5',
  '1152921504606846976',
  'NaN',
  '0x10',
  '\ud800',
];

/**
 * What a field holds, in JSON that keyscope would not write: the scripts compare texts, so they
 * take it for another.
 */
const respelled = (text: string): readonly string[] => [
  `${text} `,
  `\n${text}`,
  ...(/^\d/.test(text) ? [`${text}.0`, `${text}e0`] : []),
  ...(/^"./.test(text) ? [text.replace(/^"./, `"\\u00${text.charCodeAt(1).toString(16)}`)] : []),
  ...(/^[[{]/.test(text) ? [text.replace(/.$/, ' $&')] : []),
  ...(/^\{"/.test(text) ? [text.replace(/^\{(".*)\}$/, '{$1,$1}')] : []),
];

const REFUSED = ['invalid_token record_tampered', 'invalid_token unknown_key', 'StoreError'];

onRedis('a record edited by hand', () => {
  const io = ioRedis(URL);
  let store: KeyStore;
  beforeAll(() => {
    store = redisStore(io.client, { prefix });
  });
  afterAll(async () => {
    io.close();
    await deleteUnder(URL, prefix);
  });

  async function victim() {
    const { keyring, clock } = setUp({ store });
    const { key, info } = await keyring.issue(
      { ...PLAIN, metadata: { team: 'red' }, expiresAt: new Date(clock.now() + HOUR) },
      AUTHORITY,
    );
    await store.touch([
      { keyId: info.keyId, lastUsedAt: clock.now(), scopesUsed: { 'threats:read': 5 } },
    ]);
    expect(await outcome(() => keyring.verify(key))).toBe('passed');
    return { keyring, key, keyId: info.keyId, hash: `${prefix}rec:${digestKey(key, PEPPER)}` };
  }

  /** That the key passes nowhere, and which of the refusals it is. */
  async function refused(
    { keyring, key, keyId }: Awaited<ReturnType<typeof victim>>,
    why: string,
  ): Promise<string> {
    const verified = await outcome(() => keyring.verify(key));
    expect(REFUSED, why).toContain(verified);
    // Nor the key that whoever edited the digest knows.
    expect(REFUSED, why).toContain(await outcome(() => keyring.verify(attackers)));
    for (const entityUuid of [OWN, OTHER]) {
      const rotated = await outcome(() => keyring.rotate(keyId, { overlapMs: 0 }, { entityUuid }));
      expect([...REFUSED, 'not_found no_such_key'], `${why}, rotated`).toContain(rotated);
    }
    return verified;
  }

  test('every field is tried', async () => {
    const { hash } = await victim();
    expect((await io.client.hkeys(hash)).sort()).toEqual([...Object.keys(EDITS), ...MARKS].sort());
  });

  test.each(Object.entries(EDITS))('%s: the key never passes', async (field, values) => {
    for (const to of [...values, ...GARBAGE]) {
      const edited = await victim();
      await io.client.hset(edited.hash, field, to);
      const found = await refused(edited, `${field} = ${to}`);
      if (field !== 'digest')
        expect(found, `${field} = ${to}`).toBe('invalid_token record_tampered');
    }
  });

  test.each(MARKS)('%s: the key never passes with what is no time', async (field) => {
    for (const to of GARBAGE) {
      const edited = await victim();
      await io.client.hset(edited.hash, field, to);
      expect(await refused(edited, `${field} = ${to}`)).toBe('invalid_token record_tampered');
    }
  });

  test.each([...Object.keys(EDITS), ...MARKS.slice(0, 3)])(
    '%s: a record without it never passes',
    async (field) => {
      const edited = await victim();
      await io.client.hdel(edited.hash, field);
      expect(await refused(edited, `no ${field}`)).toBe('invalid_token record_tampered');
    },
  );

  // A key whose mark was "null " passed, and `revoke` said that it had ended.
  test.each([...Object.keys(EDITS), ...MARKS])(
    '%s: the key never passes with what it holds spelled otherwise',
    async (field) => {
      const { hash } = await victim();
      const spellings = respelled(String(await io.client.hget(hash, field)));
      expect(spellings.length).toBeGreaterThanOrEqual(2);
      for (const n of spellings.keys()) {
        const edited = await victim();
        const to = respelled(String(await io.client.hget(edited.hash, field)))[n] ?? '';
        await io.client.hset(edited.hash, field, to);
        expect(await refused(edited, `${field} = ${to}`)).toBe('invalid_token record_tampered');
        if (MARKS.includes(field))
          expect(await store.markEnded(edited.keyId, { revokedAt: 5 })).toBe(field !== 'revokedAt');
      }
    },
  );

  test('a field of the service is left alone', async () => {
    const { keyring, key, keyId, hash } = await victim();
    await io.client.hset(hash, 'team', 'blue');
    expect(await outcome(() => keyring.verify(key))).toBe('passed');
    expect(await store.findById(keyId)).not.toHaveProperty('team');
    await keyring.revoke(keyId, AUTHORITY);
    expect(await io.client.hget(hash, 'team')).toBe('blue');
  });

  test.each(['set', 'rpush', 'sadd', 'zadd', 'xadd'])(
    'a key of another type, made by %s, is a StoreError',
    async (command) => {
      const value: Record<string, string[]> = { zadd: ['0', 'x'], xadd: ['*', 'a', 'b'] };
      const edited = await victim();
      const { keyring } = edited;
      const other = await issue(keyring);
      await io.client.del(edited.hash);
      await io.client.call(command, edited.hash, ...(value[command] ?? ['x']));
      expect(await refused(edited, command)).toBe('StoreError');
      expect(await outcome(() => keyring.get(edited.keyId, AUTHORITY))).toBe('StoreError');
      expect(await outcome(() => keyring.revoke(edited.keyId, AUTHORITY))).toBe('StoreError');
      expect(await outcome(() => keyring.verify(other.key))).toBe('passed');
      await io.client.del(edited.hash);
    },
  );

  test('a pointer or an index of another type is a StoreError, and keys still verify', async () => {
    const { keyring, key, keyId } = await victim();
    await io.client.del(`${prefix}id:${keyId}`);
    await io.client.sadd(`${prefix}id:${keyId}`, 'x');
    expect(await outcome(() => keyring.revoke(keyId, AUTHORITY))).toBe('StoreError');
    await io.client.del(`${prefix}entity:${OWN}`);
    await io.client.set(`${prefix}entity:${OWN}`, 'x');
    expect(await outcome(() => keyring.list({}, AUTHORITY))).toBe('StoreError');
    expect(await outcome(() => issue(keyring))).toBe('StoreError');
    expect(await outcome(() => keyring.verify(key))).toBe('passed');
    await io.client.del(`${prefix}entity:${OWN}`);
  });

  test('a pointer to another record ends, touches and shows nothing', async () => {
    const { keyring, key, keyId, hash } = await victim();
    const other = await victim();
    await io.client.set(`${prefix}id:${keyId}`, digestKey(other.key, PEPPER));
    const before = await io.client.hgetall(other.hash);
    expect(await outcome(() => keyring.revoke(keyId, AUTHORITY))).toBe('not_found no_such_key');
    expect(await store.markEnded(keyId, { revokedAt: 5 })).toBe(false);
    await store.touch([{ keyId, lastUsedAt: 9e12, scopesUsed: {} }]);
    expect(await io.client.hgetall(other.hash)).toEqual(before);
    // The remedy that the documentation names.
    await io.client.set(`${prefix}id:${keyId}`, hash.slice(`${prefix}rec:`.length));
    await keyring.revoke(keyId, AUTHORITY);
    expect(await outcome(() => keyring.verify(key))).toBe('invalid_token revoked');
  });
});

onRedis('what is stored', () => {
  test('holds no key', async () => {
    const own = `${prefix}dump:`;
    const { client, close } = ioRedis(URL);
    const { keyring } = setUp({ store: redisStore(client, { prefix: own }) });
    const { key, info } = await issue(keyring);
    const next = await keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
    let stored = '';
    // Ten at a time took longer than a test may, beside the 1,400,000 keys of somebody else.
    for await (const keys of client.scanStream({ match: `${own}*`, count: 10_000 })) {
      for (const each of keys)
        stored += `${each} ${await client.dumpBuffer(each).then((bytes) => bytes.toString('latin1'))}`;
    }
    expect(stored).toContain(info.keyId);
    for (const secret of [key, next.key])
      expect(stored).not.toContain(secret.slice('acme_'.length, -6));
    close();
    await deleteUnder(URL, own);
  }, 60_000);
});

// ── Invalidation ──────────────────────────────────────────────────────────────────────────────────────

onRedis('redisInvalidation', () => {
  const open = (kind: string) => (kind === 'ioredis' ? ioRedis(URL) : nodeRedis(URL));

  test.each(KINDS.flatMap((from) => KINDS.map((to) => [from, to] as const)))(
    'from %s to %s',
    async (from, to) => {
      const [out, into] = [await open(from), await open(to)];
      const channel = `${prefix}${crypto.randomUUID()}`;
      const invalidation = redisInvalidation(
        { publisher: out.client, subscriber: into.client },
        { channel },
      );
      const heard: string[][] = [[], []];
      for (const list of heard) await invalidation.subscribe((keyId) => list.push(keyId));
      const elsewhere = redisInvalidation(
        { publisher: out.client, subscriber: into.client },
        { channel: `${channel}2` },
      );
      await elsewhere.subscribe(() => {});
      await elsewhere.publish(OTHER);
      // What is no UUID is nobody's key.
      for (const odd of ['', 'x', OWN.toUpperCase(), `${OWN}\n`, `${OWN} `, '{}', 'é'])
        await invalidation.publish(odd);
      await invalidation.publish(OWN);
      await invalidation.publish(OTHER);
      await eventually(
        async () => heard.every((list) => list.length === 2),
        'both listeners hear both',
      );
      expect(heard).toEqual([
        [OWN, OTHER],
        [OWN, OTHER],
      ]);
      out.close();
      into.close();
    },
  );

  test('takes a pool to publish', async () => {
    const [out, into] = [await nodeRedisPool(URL), ioRedis(URL)];
    const channel = `${prefix}${crypto.randomUUID()}`;
    const invalidation = redisInvalidation(
      { publisher: out.client, subscriber: into.client },
      { channel },
    );
    const heard: string[] = [];
    await invalidation.subscribe((keyId) => heard.push(keyId));
    await invalidation.publish(OWN);
    await eventually(async () => heard.length === 1, 'it is heard');
    out.close();
    into.close();
  });

  test('is told where it is used wrongly', async () => {
    const { client: publisher, close } = ioRedis(URL, { lazyConnect: true });
    const subscriber = new Redis({ lazyConnect: true });
    const wrong = (clients: unknown, options?: unknown) => () =>
      redisInvalidation(clients as { publisher: Redis; subscriber: Redis }, options as object);
    expect(wrong({ publisher, subscriber: publisher })).toThrow(
      'subscriber: pass a connection of its own, a duplicate()',
    );
    expect(wrong({ publisher, subscriber: createClientPool() })).toThrow(
      'subscriber: pass a client or cluster',
    );
    for (const odd of [undefined, null, 'x', {}]) {
      expect(wrong({ publisher, subscriber: odd })).toThrow(TypeError);
      expect(wrong({ publisher: odd, subscriber })).toThrow(TypeError);
      expect(wrong(odd)).toThrow(TypeError);
    }
    expect(wrong({ publisher, subscriber, client: publisher })).toThrow('unknown field "client"');
    for (const channel of ['', 5, null, 'a\0']) {
      expect(wrong({ publisher, subscriber }, { channel })).toThrow('channel: pass a text');
    }
    expect(wrong({ publisher, subscriber })).not.toThrow();
    close();
  });
});

describeWithRedis.each(KINDS)('redisInvalidation, with %s', (kind) => {
  test('hears again after the server was away', async () => {
    const own = await startRedis();
    onTestFinished(own.remove);
    const open = () => (kind === 'ioredis' ? ioRedis(own.url) : nodeRedis(own.url));
    const [out, into] = [await open(), await open()];
    const invalidation = redisInvalidation({ publisher: out.client, subscriber: into.client });
    const heard: string[] = [];
    await invalidation.subscribe((keyId) => heard.push(keyId));
    await own.stop();
    await own.start();
    const hears = async () => {
      await invalidation.publish(OWN);
      return heard.length > 0;
    };
    await eventually(hears, 'a message arrives');
    out.close();
    into.close();
  });

  test('hears once after a subscription that failed and was tried again', async () => {
    const own = await startRedis();
    onTestFinished(own.remove);
    const direct = { enableOfflineQueue: false, lazyConnect: true, maxRetriesPerRequest: 0 };
    const into =
      kind === 'ioredis'
        ? ioRedis(own.url, direct)
        : await nodeRedis(own.url, { disableOfflineQueue: true });
    if (into.client instanceof Redis) await into.client.connect();
    const out = ioRedis(own.url);
    const { publish, subscribe } = redisInvalidation({
      publisher: out.client,
      subscriber: into.client,
    });
    const heard: string[] = [];
    const listener = (keyId: string) => void heard.push(keyId);
    await own.stop();
    const tries = async () => {
      await subscribe(listener);
      return true;
    };
    await eventually(
      () =>
        tries().then(
          () => false,
          () => true,
        ),
      'a subscription fails',
    );
    await own.start();
    await eventually(tries, 'a subscription succeeds');
    await subscribe(listener);
    await publish(OWN);
    await publish(OTHER);
    await eventually(async () => heard.includes(OTHER), 'both arrive');
    expect(heard).toEqual([OWN, OTHER]);
    out.close();
    into.close();
  });
});
