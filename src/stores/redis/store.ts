/**
 * Keys in Redis 7 or newer, over a client that the service has connected: `redis` (node-redis) or
 * `ioredis`, each in version 5 or newer, for one server or a cluster. Imports no driver. The layout
 * is the same everywhere, and each command names one key, so none spans slots:
 *
 *     keyscope:rec:<digest>    hash: the record, each field as JSON, and `used:<scope>` with a time
 *     keyscope:id:<key id>     text: the digest
 *     keyscope:entity:<uuid>   sorted set of `<created>:<key id>:<digest>`, for listings
 *     keyscope:entities        sorted set of the entities that have had a key, for `summarize`
 *     keyscope:schema          text: the version of this layout
 *
 * A record is written last, so whatever a crash leaves behind is not a key: a pointer or an index
 * entry without a record of that id is skipped, and key ids are random, so it gets in nobody's way.
 *
 * **Data that Redis loses can revive keys.** A mark is part of the record, so a key is never half
 * there; but a data set that goes back in time brings revoked keys back with it. Each way has a
 * remedy:
 * - A crash without the append-only file: the last snapshot is loaded. Set `appendonly yes`, and
 *   `appendfsync always` if acknowledged writes must survive a power cut; `everysec` may lose a
 *   second of revocations. With no persistence at all, every key is unknown (401) after a restart,
 *   and none is revived.
 * - A restored backup: revoke again what was revoked since. An audit log of `key.revoked` has the
 *   list.
 * - A failover: replication is asynchronous, so the new primary may lack the last writes.
 *   `min-replicas-to-write 1` bounds that. To wait for replicas, send `WAIT 1 1000` after `revoke`
 *   on the same connection (one client, no pool), and treat an answer below 1 as not yet durable.
 *   In a cluster, each shard fails over separately: if only a pointer was lost, the key works, is
 *   in `list` and cannot be revoked until `SET keyscope:id:<key id> <digest>`.
 * - Eviction or expiry, which forgets keys (401) and revives none. The store refuses to start under
 *   `allkeys-*`; `volatile-*` evicts only what has a time to live, and nothing here has one. Do not
 *   set one.
 *
 * Once `maxmemory` is reached, `issue` and `rotate` fail, but revocations still succeed.
 *
 * Reads go to primaries, because replicas lag. While the server is away, both clients by default
 * queue commands and send them later: a revocation that was answered with 503 may still be carried
 * out, and so may an `issue`, whose key nobody has. With `disableOfflineQueue` (node-redis) and
 * `enableOfflineQueue: false` (ioredis) they fail at once instead. Set ioredis'
 * `autoResendUnfulfilledCommands: false`: a write that is sent twice reports a conflict.
 *
 * With a pepper, a record that somebody edited by hand never passes for another. If a field is
 * missing, or is not JSON exactly as written here, that record is refused; a Redis key of another
 * type is a `StoreError`.
 */

import { assert, readFields } from '../../core/input.js';
import type { Invalidation } from '../../core/invalidation.js';
import type { KeyRecord } from '../../core/record.js';
import type {
  Awaitable,
  KeyStore,
  ListPosition,
  SchemeSummary,
  UsageEntry,
} from '../../core/store.js';
import { isUuid } from '../../core/uuid.js';
import { isText } from '../bindable.js';
import type { Reads, Writes } from '../halves.js';
import { behind, startOnce } from '../start.js';

// ── Clients ───────────────────────────────────────────────────────────────────────────────────────────

/** For node-redis: replies are to be plain strings, whatever the client maps them to. */
type Plain = { readonly typeMapping: Readonly<Record<never, never>> };

/** `createClient()` or `createClientPool()` of `redis`. */
export interface NodeRedis {
  sendCommand(command: string[], options: Plain): Promise<unknown>;
}

/** `createCluster()` of `redis`. */
export interface NodeRedisCluster {
  readonly masters: readonly object[];
  nodeClient(master: object): Awaitable<NodeRedis>;
  sendCommand(
    firstKey: string | undefined,
    isReadonly: boolean,
    command: string[],
    options: Plain,
  ): Promise<unknown>;
}

/** `new Redis()` of `ioredis`, also one that finds its primary through Sentinel. */
export interface IoRedis {
  call(command: string, ...args: string[]): Promise<unknown>;
}

/** `new Redis.Cluster()` of `ioredis`, reading from masters, as it does by default. */
export interface IoRedisCluster extends IoRedis {
  nodes(role: 'master'): readonly IoRedis[];
  readonly options: { readonly scaleReads?: unknown };
}

/** A connected client, recognised by its methods. */
export type RedisClient = NodeRedis | NodeRedisCluster | IoRedis | IoRedisCluster;

type Command = [name: string, ...args: string[]];

/** What this file needs of a client. */
interface Link {
  /** Sends to the primary that has `key`; without one, to any. */
  send(key: string | undefined, command: Command): Promise<unknown>;
  primaries(): Awaitable<readonly Link[]>;
}

const PLAIN: Plain = { typeMapping: {} };

// ioredis finds the key of a command itself. For node-redis, no command counts as a read: with
// `useReplicas`, those go to a replica.
function sendBy(client: RedisClient): Link['send'] {
  if ('call' in client) return (_key, [name, ...args]) => client.call(name, ...args);
  if ('nodeClient' in client)
    return (key, command) => client.sendCommand(key, false, command, PLAIN);
  return (_key, command) => client.sendCommand(command, PLAIN);
}

function linkTo(client: RedisClient): Link {
  const send = sendBy(client);
  const link: Link = {
    async send(key, command) {
      try {
        return await send(key, command);
      } catch (error) {
        throw withoutArguments(error);
      }
    },
    primaries() {
      if ('nodes' in client) return client.nodes('master').map(linkTo);
      if (!('nodeClient' in client)) return [link];
      return Promise.all(
        client.masters.map(async (master) => linkTo(await client.nodeClient(master))),
      );
    },
  };
  return link;
}

/** What to do, by how a message begins. */
const ADVICE: readonly (readonly [string, string])[] = [
  // From node-redis, which connects only when told to.
  ['The client is closed', '; await client.connect() first'],
  ['MOVED ', '; this server is one of a cluster: pass a client of the cluster'],
];

// ioredis attaches the whole command to an error, with digest and seal among its arguments, and
// Redis quotes what it does not know: so only the text is kept, without the arguments and without
// anything like a digest.
function withoutArguments(error: unknown): Error {
  const { message, code, name } = Object(error);
  const text = String(message || code || name);
  const advice = ADVICE.find(([start]) => text.startsWith(start))?.[1] ?? '';
  return new Error(
    `redis: ${text.replace(/, with args beginning with.*|[0-9a-f]{16,}/gis, '…')}${advice}`,
  );
}

// A function has a `call` as well.
const has = (value: unknown, method: string): boolean =>
  typeof value === 'object' && typeof Object(value)[method] === 'function';

function checkClient(client: RedisClient, what: string): void {
  // A `createSentinel` has a `sendCommand` too, with other arguments.
  const known = has(client, 'call') || (has(client, 'sendCommand') && !has(client, 'acquire'));
  assert(
    known,
    `${what}: pass a client, a pool or a cluster of redis (node-redis), or a Redis or Cluster of ioredis`,
  );
  const { scaleReads = 'master' } = ('nodes' in client && client.options) || {};
  assert(
    scaleReads === 'master',
    `${what}: scaleReads must be 'master'; a replica would let revoked keys pass`,
  );
}

/** Options of both functions. `prefix`: what every Redis key of this store begins with. */
export interface RedisStoreOptions {
  /**
   * 1 to 100 printable ASCII characters. Default: `keyscope:`. One with `{…}` keeps all keys on one
   * cluster node.
   */
  readonly prefix?: string | undefined;
}

function open(
  client: RedisClient,
  options: RedisStoreOptions,
  what: string,
): { link: Link; prefix: string } {
  checkClient(client, what);
  const given = readFields(options, ['prefix'], what);
  const { prefix = 'keyscope:' } = given;
  // Two services with a keyPrefix each would find each other's keys.
  const ignored =
    given.prefix === undefined && 'sendCommand' in client && Boolean(Object(client)._keyPrefix);
  assert(
    !ignored,
    `${what}: prefix: pass one; a keyPrefix of node-redis does not come before raw commands`,
  );
  const sound = typeof prefix === 'string' && /^[!-~]{1,100}$/.test(prefix);
  assert(sound, `${what}: prefix: pass 1 to 100 printable ASCII characters without spaces`);
  return { link: linkTo(client), prefix };
}

// ── Start ─────────────────────────────────────────────────────────────────────────────────────────────

const VERSION = '1';

const NO_ANSWER =
  'the client does not answer; pass the client itself, no pipeline, transaction or legacy() of it';

type Info = Readonly<Record<string, string | undefined>>;

// `INFO` and not `CONFIG GET`, which managed servers forbid.
const DEMANDS: readonly (readonly [holds: (info: Info) => boolean, otherwise: string])[] = [
  [
    ({ redis_version }) => Number.parseInt(redis_version ?? '', 10) >= 7,
    'Redis 7 or newer is needed',
  ],
  [({ role }) => role === 'master', 'this is a replica; connect to the primary'],
  [
    ({ maxmemory_policy }) => /^(?:noeviction|volatile-.*)$/.test(maxmemory_policy ?? ''),
    'set maxmemory-policy to noeviction: any other but volatile-* may evict keys',
  ],
];

async function start({ send, primaries }: Link, prefix: string): Promise<void> {
  const key = `${prefix}schema`;
  // First, because a cluster's client knows its nodes only once it is connected.
  const found = await send(key, ['GET', key]);
  const nodes = await primaries();
  if (nodes.length === 0)
    throw new Error('keyscope: the client knows no primary; connect it first');
  for (const answer of await Promise.all(nodes.map((node) => node.send(undefined, ['INFO'])))) {
    // A pipeline only gathers commands, and a legacy client answers callbacks.
    if (typeof answer !== 'string') throw new Error(`keyscope: ${NO_ANSWER}`);
    const info: Info = Object.fromEntries(answer.split(/\r?\n/).map(readLine));
    const failed = DEMANDS.find(([holds]) => !holds(info));
    if (failed) throw new Error(`keyscope: a Redis server cannot hold keys: ${failed[1]}`);
  }
  const version = found ?? (await send(key, ['SET', key, VERSION, 'NX', 'GET'])) ?? VERSION;
  if (version === VERSION) return;
  const newer = /^[1-9]\d{0,8}$/.test(String(version));
  const problem = newer
    ? `${version} and this release knows ${VERSION}; upgrade it`
    : 'that is no version';
  throw new Error(`keyscope: the keys under ${prefix} have schema ${problem}`);
}

const readLine = (line: string): readonly [string, string] => {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1)];
};

/**
 * Checks that the servers can hold keys, and writes the version of the layout if there is none;
 * {@link redisStore} does so before its first operation. Any number of processes may call it at
 * once. If there is a version, it only reads. In a cluster, it checks every primary.
 *
 * Not checked: servers that join later, settings that change later, persistence.
 *
 * @param client A connected client. keyscope never closes it.
 * @throws TypeError if `client` is not such a client, and on unknown options.
 * @throws Error if a server is older than Redis 7, a replica, or may evict keys; if a newer release
 *   has written; whatever the client rejects with.
 * @example
 * await migrate(await createClient({ url }).connect()); // in a deploy step
 */
export async function migrate(client: RedisClient, options: RedisStoreOptions = {}): Promise<void> {
  const { link, prefix } = open(client, options, 'migrate');
  await start(link, prefix);
}

// ── Records ───────────────────────────────────────────────────────────────────────────────────────────

// biome-ignore format: a table
const FIELDS: ReadonlySet<string> = new Set<Exclude<keyof KeyRecord, 'scopesUsed'>>([
  'keyId', 'name', 'digest', 'seal', 'entityUuid', 'accessibleEntities', 'scopes', 'justification', 'metadata',
  'createdAt', 'expiresAt', 'revokedAt', 'retireAt', 'rotatedFrom', 'lastUsedAt',
]);

// A separate field for each scope, so that a script can move each time forward without parsing
// JSON, whose numbers Lua would round.
const USED = 'used:';

/**
 * Alternating fields and values, as HSET accepts them. As JSON, null and a field that somebody
 * deleted differ.
 */
function toHash({ scopesUsed, ...rest }: KeyRecord): string[] {
  const used = Object.entries(scopesUsed).map(([scope, time]) => [USED + scope, time]);
  return [...Object.entries(rest), ...used].flatMap(([name, value]) => [
    String(name),
    JSON.stringify(value),
  ]);
}

/**
 * A fresh record from an HGETALL reply, unchecked: the core checks what comes back. `null` if there
 * is no hash.
 */
function toRecord(reply: unknown): KeyRecord | null {
  // RESP2 returns alternating names and values, RESP3 a map, which clients turn into an object.
  const list = Array.isArray(reply) ? reply : Object.entries(Object(reply)).flat();
  if (list.length === 0) return null;
  const row: Partial<Record<keyof KeyRecord, unknown>> = {};
  const used: [string, unknown][] = [];
  for (let i = 0; i < list.length; i += 2) {
    const name = String(list[i]);
    // Fields that the service adds are left alone.
    if (name.startsWith(USED)) used.push([name.slice(USED.length), parse(list[i + 1])]);
    else if (FIELDS.has(name)) row[name as keyof KeyRecord] = parse(list[i + 1]);
  }
  row.scopesUsed = Object.fromEntries(used);
  return row as unknown as KeyRecord;
}

/**
 * Texts and whole numbers that JSON can spell in one way only: nearly every field, and faster than
 * writing it again.
 */
const PLAIN_JSON = /^(?:"[ !#-[\]-~]*"|0|[1-9]\d{0,14})$/;

/**
 * Accepts only what {@link toHash} and the scripts write. The scripts compare texts: a mark of
 * `null` with a space after it would be unset to the core and set to the script, so that the key
 * could never be ended.
 */
function parse(json: unknown): unknown {
  if (json === 'null') return null;
  try {
    const value: unknown = JSON.parse(json as string);
    if (PLAIN_JSON.test(json as string) || JSON.stringify(value) === json) return value;
  } catch {}
  // No field of a record may be undefined, so the core refuses this record, and only this one.
  return undefined;
}

/**
 * False for somebody else's record, to which the pointer or index entry of a failed insert may
 * lead.
 */
const hasId = (row: KeyRecord, keyId: string): boolean =>
  row.keyId === keyId || typeof row.keyId !== 'string';

/**
 * A position as text that sorts as listings do: 17 digits, also for negative times, then the key
 * id.
 */
const sortable = ({ createdAt, keyId }: ListPosition): string =>
  `${String(BigInt(createdAt) + 2n ** 53n).padStart(17, '0')}:${keyId}:`;

const memberOf = (record: KeyRecord): string => sortable(record) + record.digest;

// ── Scripts ───────────────────────────────────────────────────────────────────────────────────────────

// Sent as text each time, with EVAL: a script that the server lost in a restart needs no second
// attempt, and over a thousand calls the text had no measurable cost. Times stay text (Lua would
// print 1e+15) and are compared as numbers, which Lua holds exactly up to 2^53.

/** Returns the key id that has this digest already, or nothing if it wrote. */
const INSERT = `
if redis.call('EXISTS', KEYS[1]) == 1 then return redis.call('HGET', KEYS[1], 'keyId') or '' end
redis.call('HSET', KEYS[1], unpack(ARGV))
return false`;

/** Key id, mark, time. Allowed when memory is full: a key that leaks then must end all the same. */
const END = `#!lua flags=allow-oom
local keyId, revokedAt, retireAt = unpack(redis.call('HMGET', KEYS[1], 'keyId', 'revokedAt', 'retireAt'))
if keyId ~= ARGV[1] or revokedAt ~= 'null' or (ARGV[2] == 'retireAt' and retireAt ~= 'null') then return 0 end
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
return 1`;

/**
 * Key id, then alternating fields and times. `pcall`, so that a Redis key of another type is
 * skipped.
 */
const TOUCH = `
if redis.pcall('HGET', KEYS[1], 'keyId') ~= ARGV[1] then return 0 end
for i = 2, #ARGV, 2 do
  local old = tonumber(redis.call('HGET', KEYS[1], ARGV[i]))
  if not old or old < tonumber(ARGV[i + 1]) then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
return 1`;

// ── The store ─────────────────────────────────────────────────────────────────────────────────────────

/**
 * At most this many commands are sent at once, so that a request behind them waits at most some
 * milliseconds.
 */
const MOST = 500;

interface Keys {
  readonly entities: string;
  record(digest: string): string;
  pointer(keyId: string): string;
  index(entityUuid: string): string;
}

const keysUnder = (prefix: string): Keys => ({
  entities: `${prefix}entities`,
  record: (digest) => `${prefix}rec:${digest}`,
  pointer: (keyId) => `${prefix}id:${keyId}`,
  index: (entityUuid) => `${prefix}entity:${entityUuid}`,
});

/** The three ways to read: a record, a sorted set, and the records that a set names. */
function readers({ send }: Link, keys: Keys) {
  const read = async (digest: string) =>
    toRecord(await send(keys.record(digest), ['HGETALL', keys.record(digest)]));

  /** The members of a sorted set, page by page, from `bound` on. */
  async function* walk(
    key: string,
    bound: string,
    to: readonly string[],
    size: number,
  ): AsyncGenerator<string[]> {
    for (let from = bound; ; ) {
      const range: Command = ['ZRANGE', key, from, ...to, 'LIMIT', '0', String(size)];
      const members = (await send(key, range)) as string[];
      yield members;
      const last = members.at(-1);
      if (members.length < size || last === undefined) return;
      from = `(${last}`;
    }
  }

  /** An entity's records, newest first. */
  async function* records(
    entityUuid: string,
    bound: string,
    size: number,
  ): AsyncGenerator<KeyRecord[]> {
    for await (const members of walk(keys.index(entityUuid), bound, ['-', 'BYLEX', 'REV'], size)) {
      const rows = members.map(async (member) => {
        const [, keyId = '', digest = ''] = /^\d+:([^:]*):(.*)$/s.exec(member) ?? [];
        const row = await read(digest);
        return row !== null && hasId(row, keyId) ? row : null;
      });
      yield (await Promise.all(rows)).filter((row) => row !== null);
    }
  }

  return { read, walk, records };
}

/** Sends at most so many at once, and the others in the order in which they came. */
function inTurns(send: Link['send']): Link['send'] {
  const waiting: (() => void)[] = [];
  let free = MOST;
  return async (key, command) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await send(key, command);
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}

function reads(link: Link, keys: Keys): Reads {
  const { read, records } = readers(link, keys);
  return {
    async findByDigest(digests) {
      const rows = await Promise.all(digests.filter(isText).map(read));
      return rows.filter((row) => row !== null);
    },

    async findById(keyId) {
      const digest = isText(keyId)
        ? await link.send(keys.pointer(keyId), ['GET', keys.pointer(keyId)])
        : null;
      const row = digest === null ? null : await read(String(digest));
      return row !== null && hasId(row, keyId) ? row : null;
    },

    async list({ entityUuid, after = null, limit }) {
      const found: KeyRecord[] = [];
      if (!isText(entityUuid)) return found;
      // No digest is empty, so a record sorts after its own position.
      const from = after === null ? '+' : `(${sortable(after)}`;
      for await (const rows of records(entityUuid, from, Math.min(limit, MOST))) {
        if (found.push(...rows) >= limit) break;
      }
      return found.slice(0, limit);
    },

    // Reads every record: whether one is live depends on `now`, and an index across slots could not
    // be kept exact.
    async summarize(now?: number) {
      const [time, lines] = [now ?? Date.now(), new Map<string, SchemeSummary>()];
      const { walk, records } = readers({ ...link, send: inTurns(link.send) }, keys);
      for await (const entities of walk(keys.entities, '-', ['+', 'BYLEX'], 50)) {
        const counted = entities.map(async (entityUuid) => {
          for await (const rows of records(entityUuid, '+', 100))
            for (const row of rows) count(lines, row, time);
        });
        await Promise.all(counted);
      }
      return [...lines.values()];
    },
  };
}

/** Adds a record to its scheme's line if it is live. A malformed one is not live. */
function count(lines: Map<string, SchemeSummary>, row: KeyRecord, now: number): void {
  const ahead = (deadline: number | null) => deadline === null || now < deadline;
  if (
    row.revokedAt !== null ||
    !ahead(row.retireAt) ||
    !ahead(row.expiresAt) ||
    !isText(row.digest)
  )
    return;
  const scheme = row.digest.slice(0, row.digest.indexOf('$'));
  const { live, lastUsedAt } = lines.get(scheme) ?? { live: 0, lastUsedAt: null };
  const newest = Math.max(lastUsedAt ?? -Infinity, row.lastUsedAt ?? -Infinity);
  lines.set(scheme, {
    scheme,
    live: live + 1,
    lastUsedAt: Number.isFinite(newest) ? newest : null,
  });
}

function writes({ send }: Link, keys: Keys): Writes {
  const run = (script: string, key: string, args: readonly string[]) =>
    send(key, ['EVAL', script, '1', key, ...args]);

  /**
   * Runs a script on the record of a key id; 0 if there is none. The script checks the id again.
   */
  async function onRecord(
    script: string,
    keyId: unknown,
    args: readonly string[],
  ): Promise<number> {
    if (!isText(keyId)) return 0;
    const digest = await send(keys.pointer(keyId), ['GET', keys.pointer(keyId)]);
    if (digest === null) return 0;
    return Number(await run(script, keys.record(String(digest)), [JSON.stringify(keyId), ...args]));
  }

  const touchOne = ({ keyId, lastUsedAt, scopesUsed }: UsageEntry) => {
    const used = Object.entries(scopesUsed).flatMap(([scope, time]) => [
      USED + scope,
      String(time),
    ]);
    return onRecord(TOUCH, keyId, ['lastUsedAt', String(lastUsedAt), ...used]);
  };

  return {
    async insert(record) {
      const { keyId, digest, entityUuid } = record;
      const [pointer, index, member] = [
        keys.pointer(keyId),
        keys.index(entityUuid),
        memberOf(record),
      ];
      // Claims the key id. Only the holder of the claim writes the entry and the record of that id.
      const claimed = await send(pointer, ['SET', pointer, digest, 'NX']);
      if (claimed === null) throw new Error('keyscope: a key with this id exists already');
      await send(keys.entities, ['ZADD', keys.entities, '0', entityUuid]);
      await send(index, ['ZADD', index, '0', member]);
      const owner = await run(INSERT, keys.record(digest), toHash(record));
      if (owner === null) return;
      // If the id is our own, it is this very insert, sent twice by the client: the key exists and
      // must stay findable.
      if (owner !== JSON.stringify(keyId)) {
        await send(index, ['ZREM', index, member]);
        await send(pointer, ['DEL', pointer]);
      }
      throw new Error('keyscope: a key with this digest exists already');
    },

    async markEnded(keyId, ending) {
      const [[mark, time]] = Object.entries(ending) as [[string, number]];
      return (await onRecord(END, keyId, [mark, String(time)])) === 1;
    },

    touch: (entries) => inParts(entries, touchOne),
  };
}

/**
 * Applies `act` to each. A damaged pointer keeps no other key from its usage; an unreachable server
 * ends the batch.
 */
async function inParts<T>(all: readonly T[], act: (each: T) => Promise<unknown>): Promise<void> {
  let failed: PromiseRejectedResult[] = [];
  for (let i = 0; i < all.length; i += MOST) {
    const part = await Promise.allSettled(all.slice(i, i + MOST).map(act));
    const now = part.filter((result) => result.status === 'rejected');
    failed = [...failed, ...now];
    if (now.length === part.length) break;
  }
  if (failed[0]) throw failed[0].reason;
}

/**
 * Makes a store in Redis. Sends nothing to the server until the first operation, which checks and
 * migrates, see {@link migrate}; if that fails, the next operation tries again. Each operation is
 * atomic per record.
 *
 * Costs: a look-up is one round trip, even with several digests; by id it is two, a revocation two,
 * an insert four. `summarize` reads every record, some seconds for 100,000: a keyring that reports
 * needs a longer `storeTimeoutMs`.
 *
 * The commands that an ACL must allow, on keys that begin with the prefix:
 * `+get +set +del +zadd +zrem +zrange +hgetall +hget +hmget +hset +exists +eval +info`
 *
 * Not checked: persistence, replication and what may go back in time; see the top of this file
 * before production.
 *
 * @param client A client, pool or cluster of `redis`, or a Redis or Cluster of `ioredis`, not in a
 *   transaction or subscriber mode; the service may use it, too. keyscope never connects or closes
 *   it.
 * @param options `prefix`: what every Redis key begins with, for several stores on one server. A
 *   `keyPrefix` of ioredis, from version 5, comes in front of it; one of node-redis does not, so
 *   then a `prefix` is required.
 * @throws TypeError if `client` is none of those or reads from replicas, and on unknown options.
 * @example
 * const client = await createClient({ url: process.env.REDIS_URL }).on('error', report).connect();
 * const keyring = createKeyring({ prefix: 'acme', catalog, store: redisStore(client), peppers });
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): KeyStore {
  const { link, prefix } = open(client, options, 'redisStore');
  const keys = keysUnder(prefix);
  return behind(
    startOnce(() => start(link, prefix)),
    { ...reads(link, keys), ...writes(link, keys) },
  );
}

// ── Invalidation ──────────────────────────────────────────────────────────────────────────────────────

/**
 * A client or cluster of `redis`, or a Redis or Cluster of `ioredis`, that is only used to
 * subscribe.
 */
export type RedisSubscriber =
  | { subscribe(channel: string, listener: (message: string) => void): Promise<unknown> }
  | {
      call(command: string, ...args: string[]): Promise<unknown>;
      subscribe(channel: string): Promise<unknown>;
      on(event: 'message', listener: (channel: string, message: string) => void): unknown;
    };

/**
 * Tells other processes over Redis pub/sub that a key has ended, for `cacheStore`. Carries only key
 * ids; anything that is not a UUID is ignored. Whoever may publish on the channel can make caches
 * look a key up again, and nothing more.
 *
 * Not checked: that a message arrives. One that is sent while a subscriber is away is lost, and
 * that process finds out within its `maxStalenessMs`. Both clients resubscribe by themselves once
 * they are back.
 *
 * @param clients Connected. `publisher` may be the store's client. `subscriber` is a separate
 *   connection, because one that subscribes accepts no other commands: a `duplicate()`, with a
 *   listener for `error`, without which a lost connection ends the process with node-redis.
 * @param options `channel`: the same in every process. Default: `keyscope:ended`.
 * @throws TypeError if either is not such a client, both are the same, or the subscriber is a pool.
 * @example
 * const subscriber = await client.duplicate().on('error', report).connect();
 * const invalidation = redisInvalidation({ publisher: client, subscriber });
 */
export function redisInvalidation(
  clients: { readonly publisher: RedisClient; readonly subscriber: RedisSubscriber },
  options: { readonly channel?: string | undefined } = {},
): Invalidation {
  const what = 'redisInvalidation';
  const { publisher, subscriber } = readFields(
    clients,
    ['publisher', 'subscriber'],
    what,
  ) as typeof clients;
  const { channel = 'keyscope:ended' } = readFields(options, ['channel'], what);
  checkClient(publisher, `${what}: publisher`);
  assert(
    has(subscriber, 'subscribe'),
    `${what}: subscriber: pass a client or cluster of redis or ioredis, no pool`,
  );
  assert(
    subscriber !== (publisher as unknown),
    `${what}: subscriber: pass a connection of its own, a duplicate()`,
  );
  assert(isText(channel) && channel !== '', `${what}: channel: pass a text`);
  const { send } = linkTo(publisher);

  // One function for all listeners and attempts: a subscription that is retried after a failure is
  // heard once.
  const listeners = new Set<(keyId: string) => void>();
  const hear = (message: unknown) => {
    if (isUuid(message)) for (const listener of listeners) listener(message);
  };
  let attached = false;

  return {
    publish: async (keyId) => {
      await send(undefined, ['PUBLISH', channel, keyId]);
    },
    subscribe: (listener) => {
      listeners.add(listener);
      if (!('call' in subscriber)) return subscriber.subscribe(channel, hear);
      if (!attached) subscriber.on('message', (from, message) => from === channel && hear(message));
      attached = true;
      return subscriber.subscribe(channel);
    },
  };
}
