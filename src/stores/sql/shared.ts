/**
 * What the stores share: rows to records and back, look-ups and usage in batches, and a start that
 * is retried.
 */
import type { KeyRecord, Usage } from '../../core/record.js';
import type { Awaitable, KeyStore, UsageEntry } from '../../core/store.js';

/** The two halves of a store. */
export type Reads = Pick<KeyStore, 'findByDigest' | 'findById' | 'list' | 'summarize'>;
export type Writes = Omit<KeyStore, keyof Reads>;

// ── Rows ──────────────────────────────────────────────────────────────────────────────────────────────

/** In the order of the INSERT. By name, so that columns that the service adds are left alone. */
export const COLUMN_LIST: string =
  'key_id, name, digest, seal, entity_uuid, accessible_entities, scopes, justification, metadata, created_at, ' +
  'expires_at, revoked_at, retire_at, rotated_from, last_used_at, scopes_used';

/**
 * What a record's fields look like in a row: lists and tables as JSON, whole numbers as numbers.
 */
export type Value = string | number | null;

/** A record's values in the order of {@link COLUMN_LIST}. */
export const toValues = (record: KeyRecord): Value[] => [
  record.keyId,
  record.name,
  record.digest,
  record.seal,
  record.entityUuid,
  JSON.stringify(record.accessibleEntities),
  JSON.stringify(record.scopes),
  record.justification,
  JSON.stringify(record.metadata),
  record.createdAt,
  record.expiresAt,
  record.revokedAt,
  record.retireAt,
  record.rotatedFrom,
  record.lastUsedAt,
  JSON.stringify(record.scopesUsed),
];

/**
 * A fresh plain record from a row with the columns' names, unchecked: the core checks what comes
 * back. Drivers differ in what they parse: JSON comes as text or parsed, 64-bit integers as number,
 * bigint or text.
 */
export function toRecord(row: unknown): KeyRecord {
  const columns = row as Readonly<Record<string, never>>;
  // Written out: with a table of names, a look-up in SQLite takes half as long again.
  const {
    key_id,
    entity_uuid,
    accessible_entities,
    created_at,
    expires_at,
    revoked_at,
    retire_at,
  } = columns;
  const {
    name,
    digest,
    seal,
    scopes,
    justification,
    metadata,
    rotated_from,
    last_used_at,
    scopes_used,
  } = columns;
  const record: Unread = {
    keyId: key_id,
    name,
    digest,
    seal,
    entityUuid: entity_uuid,
    accessibleEntities: parse(accessible_entities),
    scopes: parse(scopes),
    justification,
    metadata: parse(metadata),
    createdAt: whole(created_at),
    expiresAt: whole(expires_at),
    revokedAt: whole(revoked_at),
    retireAt: whole(retire_at),
    rotatedFrom: rotated_from,
    lastUsedAt: whole(last_used_at),
    scopesUsed: parse(scopes_used),
  };
  return record as unknown as KeyRecord;
}

type Unread = { readonly [F in keyof KeyRecord]: unknown };

function parse(json: unknown): unknown {
  try {
    return typeof json === 'string' ? JSON.parse(json) : json;
  } catch {
    // Neither a list nor a table, so the core refuses this record, and only this one.
    return json;
  }
}

/**
 * A 64-bit integer as a number. Anything else, or beyond 2^53, stays what it is, and the core
 * refuses the record.
 */
export function whole(value: unknown): unknown {
  if (value === null || typeof value === 'number') return value;
  const number =
    typeof value === 'bigint' || (typeof value === 'string' && /^-?\d+$/.test(value))
      ? Number(value)
      : value;
  return Number.isSafeInteger(number) ? number : value;
}

/**
 * Whether `value` may be bound in a look-up of an id or a digest. Drivers give objects a special
 * meaning, and databases cut text at a NUL or refuse it; no id and no digest has one.
 */
export const isText = (value: unknown): value is string =>
  typeof value === 'string' && !value.includes('\0');

// ── Batches ───────────────────────────────────────────────────────────────────────────────────────────

type Find = (digests: readonly string[]) => Promise<readonly KeyRecord[]>;
type Waiting = {
  digests: readonly string[];
  resolve(rows: readonly KeyRecord[]): void;
  reject(error: unknown): void;
};

/** At most this many digests are sent as one query. */
const MOST = 1000;

/**
 * Combines the look-ups of one turn of the event loop into one query, without changing any answer:
 * each caller gets the rows of its own digests, compared byte for byte, and the query is sent after
 * all of them have asked.
 */
export function inBatches(find: Find): Find {
  let waiting: Waiting[] = [];

  async function send(): Promise<void> {
    const batch = waiting;
    waiting = [];
    const digests = [...new Set(batch.flatMap((each) => each.digests))];
    const chunks = Array.from({ length: Math.ceil(digests.length / MOST) }, (_, i) => i * MOST);
    try {
      const found = await Promise.all(
        chunks.map((start) => find(digests.slice(start, start + MOST))),
      );
      const rows = found.flat();
      for (const each of batch)
        each.resolve(rows.filter(({ digest }) => each.digests.includes(digest)));
    } catch (error) {
      for (const each of batch) each.reject(error);
    }
  }

  return (digests) =>
    new Promise((resolve, reject) => {
      if (waiting.push({ digests, resolve, reject }) === 1) nextTurn(send);
    });
}

// Requests arrive as separate events of one turn, so a microtask would come too early. Without
// `setImmediate`, a microtask gathers the look-ups of one event.
type Turn = (run: () => void) => unknown;
const nextTurn: Turn = (globalThis as { setImmediate?: Turn }).setImmediate ?? queueMicrotask;

// ── Start ─────────────────────────────────────────────────────────────────────────────────────────────

/** How long later callers wait for an attempt to start, before they make another. */
const PATIENCE_MS = 5_000;

/**
 * Runs `start` before the first use, and never again once it has succeeded. If it fails or is never
 * answered, as on a half-open connection, a later use tries again: a server that was down is used
 * once it is up. Two attempts may overlap.
 */
export function startOnce<T>(start: () => Promise<T>): () => Promise<T> {
  let started: Promise<T> | undefined;
  let until = 0;
  return () => {
    if (started !== undefined && performance.now() < until) return started;
    const attempt = start();
    [started, until] = [attempt, performance.now() + PATIENCE_MS];
    const succeeded = () => {
      [started, until] = [attempt, Number.POSITIVE_INFINITY];
    };
    const failed = () => {
      if (started === attempt) started = undefined;
    };
    attempt.then(succeeded, failed);
    return attempt;
  };
}

/**
 * The version of the schema that was read in `place`, 0 if there is none. Throws if a newer release
 * has migrated it.
 */
export function knownVersion(read: unknown, known: number, place = 'the database'): number {
  const version = Number(read ?? 0);
  if (version <= known) return version;
  throw new Error(
    `keyscope: ${place} has schema ${version} and this release knows ${known}; upgrade it`,
  );
}

/** Makes every method of a store wait for `ready`. */
export function behind(ready: () => Promise<unknown>, store: KeyStore): KeyStore {
  const late = Object.entries(store).map(
    ([name, method]: [string, (...args: never[]) => Awaitable<unknown>]) => {
      let open = false;
      const waiting = async (...args: never[]) => {
        if (!open) await ready();
        open = true;
        return method(...args);
      };
      // The same number of parameters as the method: from it, `storeContract` knows that `summarize`
      // accepts a time.
      return [name, Object.defineProperty(waiting, 'length', { value: method.length })];
    },
  );
  return Object.fromEntries(late);
}

// ── Usage ─────────────────────────────────────────────────────────────────────────────────────────────

/** What is known of a key's usage, moved forward by what is new and never back. */
export function mergeUsage(
  old: Pick<KeyRecord, keyof Usage> | undefined,
  { lastUsedAt, scopesUsed }: Usage,
): Usage {
  const merged = { ...old?.scopesUsed };
  for (const [scope, time] of Object.entries(scopesUsed))
    merged[scope] = Math.max(merged[scope] ?? time, time);
  return { lastUsedAt: Math.max(old?.lastUsedAt ?? lastUsedAt, lastUsedAt), scopesUsed: merged };
}

/**
 * At most this many keys, and this many characters, are sent in one statement: it fits if a packet
 * may have 1 MiB.
 */
const [MOST_KEYS, MOST_TEXT] = [1000, 1_000_000];

/**
 * What `touch` is given, as JSON lists that each fit one statement: one entry per key, because an
 * UPDATE writes each row once, and sorted by id. Invalid ids are left out. `shape`: what the
 * statement reads of an entry.
 */
export function usageBatches(
  entries: readonly UsageEntry[],
  isId: (keyId: unknown) => boolean,
  shape: (entry: UsageEntry) => unknown = (entry) => entry,
): string[] {
  const merged = new Map<string, Usage>();
  for (const entry of entries) {
    if (isId(entry.keyId)) merged.set(entry.keyId, mergeUsage(merged.get(entry.keyId), entry));
  }
  const batches: string[][] = [];
  // Full, so that the first entry opens a new one.
  let [batch, size]: [string[], number] = [[], MOST_TEXT];
  for (const [keyId, usage] of [...merged].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const text = JSON.stringify(shape({ keyId, ...usage }));
    size += text.length + 1;
    if (size > MOST_TEXT || batch.length === MOST_KEYS) {
      [batch, size] = [[], text.length];
      batches.push(batch);
    }
    batch.push(text);
  }
  return batches.map((texts) => `[${texts.join()}]`);
}
