/**
 * Starts a store: checks that the servers can hold keys, and reads or writes the layout's version.
 */
import { readSchemaVersion } from '../schema/versions.js';
import { assertMayMigrate } from '../start.js';
import type { RedisClient } from './client.js';
import { EVICT_NOTHING, type Link, runOn } from './client.js';
import { type RedisStoreOptions, readOptions, type Settings } from './options.js';
import { MIN_READER, VERSION } from './schema.js';
import { WRITE_VERSION } from './scripts.js';

/**
 * Checks that the servers can hold keys, and writes the version of the layout unless one is stored.
 * `redisStore` does so before its first operation. Any number of processes may call it at once. If
 * a version is stored, it only reads. In a cluster, it checks every primary.
 *
 * Not checked: that no server that joins later is older than Redis 7; persistence.
 *
 * @param client A connected client. keyscope never closes it.
 * @param options `prefix`: the same as for the store.
 * @throws TypeError if `client` is not a supported client, and on unknown options.
 * @throws Error if a server is older than Redis 7, a replica, or may evict keys; if a newer release
 *   has written data that this one cannot work with; if the client rejects.
 * @example
 * await migrate(await createClient({ url }).connect()); // in a deploy step
 */
export async function migrate(client: RedisClient, options: RedisStoreOptions = {}): Promise<void> {
  await migrateIfNeeded(readOptions(client, options, 'migrate'));
}

/** Does the same, after the options have been read. */
export async function migrateIfNeeded({ link, prefix, keys }: Settings): Promise<void> {
  const key = keys.schema;
  // First, because a cluster's client knows its nodes only once it is connected.
  const found = await link.send(key, ['hmget', key, 'version', 'min_reader']);
  await checkServers(link);
  if (readVersion(found, prefix) === VERSION) return;
  assertMayMigrate();
  // Written unless another process was faster; the answer is then that process's version.
  const own = [String(VERSION), String(MIN_READER)];
  readVersion(await runOn(link, key, WRITE_VERSION, own), prefix);
}

/** Returns 0 if no version is stored. Throws if this release cannot work with it. */
function readVersion(answer: unknown, prefix: string): number {
  const fields = answer as readonly unknown[];
  if (fields.every((field) => field === null)) return 0;
  const areVersions = fields.every((field) => /^[1-9]\d{0,8}$/.test(String(field)));
  if (!areVersions) {
    throw new Error(`keyscope: ${prefix}schema does not contain a version`);
  }
  const row = { version: fields[0], minReader: fields[1] };
  return readSchemaVersion(row, VERSION, `the layout under ${prefix}`);
}

// ── The servers ─────────────────────────────────────────────────────────────────────────────────

/** The fields of a server's reply to `INFO`. */
type ServerInfo = ReadonlyMap<string, string>;

interface Requirement {
  readonly isMet: (info: ServerInfo) => boolean;
  readonly instead: string;
}

const EVICTS_NO_KEY = /^(?:noeviction|volatile-.*)$/;

// From `INFO`, because managed servers forbid `CONFIG GET`.
const REQUIREMENTS: readonly Requirement[] = [
  {
    isMet: (info) => Number.parseInt(info.get('redis_version') ?? '', 10) >= 7,
    instead: 'it must be Redis 7 or newer',
  },
  {
    isMet: (info) => info.get('role') === 'master',
    instead: 'this is a replica. Connect to the primary',
  },
  {
    isMet: (info) => EVICTS_NO_KEY.test(info.get('maxmemory_policy') ?? ''),
    instead: `it may evict keys. ${EVICT_NOTHING}`,
  },
];

/** Throws unless every primary can hold keys. */
async function checkServers(link: Link): Promise<void> {
  const nodes = await link.primaries();
  if (nodes.length === 0) {
    throw new Error('keyscope: the client does not know any primary. Connect it first');
  }
  const answers = await Promise.all(nodes.map((node) => node.send(undefined, ['info'])));
  for (const answer of answers) checkServer(answer);
}

function checkServer(answer: unknown): void {
  const info: ServerInfo = new Map(String(answer).split(/\r?\n/).map(readLine));
  const failed = REQUIREMENTS.find((requirement) => !requirement.isMet(info));
  if (failed === undefined) return;
  throw new Error(`keyscope: a Redis server cannot hold keys: ${failed.instead}`);
}

/** Reads a line `name:value`. Headings and empty lines become names that are never looked up. */
function readLine(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1)];
}
