/**
 * Batches the look-ups of a store whose queries cross a network. Look-ups from one turn of the
 * event loop share a query, and so do look-ups that queue while the limit on queries is reached.
 */
import { assert, readFields, readInteger } from '../core/input.js';
import type { KeyRecord } from '../core/record.js';
import { createSlots, type Slots } from '../core/slots.js';
import type { CallOptions } from '../core/store.js';
import { isUuid } from '../core/uuid.js';
import type { LookUps } from './reads.js';

// ── The look-ups of a SQL server ────────────────────────────────────────────────────────────────

/** Measured: more queries are not faster, and take more of the service's connections. */
const DEFAULT_QUERIES = 4;

/** The store's own look-ups. */
export interface Finders {
  readonly digests: Find;
  readonly ids: Find;
}

/** The look-up options of a SQL server's store. */
export interface LookUpOptions {
  /** The most queries at a time; null sends a query for each look-up, at once. */
  readonly maxQueries: number | null;
  /** Whether look-ups are prepared statements. */
  readonly prepare: boolean;
}

/** Validates the options `batch`, `maxLookUpQueries` and `prepare`, and rejects any other. */
export function readLookUpOptions(options: unknown, where: string): LookUpOptions {
  const names = ['batch', 'maxLookUpQueries', 'prepare'] as const;
  const given = readFields(options, names, where);
  const { batch = true, maxLookUpQueries = DEFAULT_QUERIES, prepare = true } = given;
  assert(typeof batch === 'boolean', `${where}: batch: pass true or false`);
  assert(typeof prepare === 'boolean', `${where}: prepare: pass true or false`);
  const maxQueries = readInteger(maxLookUpQueries, 1, 1_000, `${where}: maxLookUpQueries`);
  return { maxQueries: batch ? maxQueries : null, prepare };
}

/** Makes the look-ups by digest and by id. It never sends an id that is not a lower-case UUID. */
export function createLookUps(
  { digests, ids }: Finders,
  maxQueries: LookUpOptions['maxQueries'],
): LookUps {
  const slots = maxQueries === null ? null : createSlots(maxQueries, HANGS_AFTER_MS);
  const lookUpIds = slots === null ? ids : batchLookUps(ids, ({ keyId }) => keyId, slots);
  const lookUpDigests =
    slots === null ? digests : batchLookUps(digests, ({ digest }) => digest, slots);

  return {
    findByDigest: lookUpDigests,

    async findById(keyId, options) {
      if (!isUuid(keyId)) return null;
      const records = await lookUpIds([keyId], options);
      return records[0] ?? null;
    },
  };
}

// ── Batches ──────────────────────────────────────────────────────────────────────────────────────

/** Finds records by their names, which are digests or ids. */
export type Find = (names: readonly string[]) => Promise<readonly KeyRecord[]>;

/** Does the same for one caller. */
type LookUp = (names: readonly string[], options?: CallOptions) => Promise<readonly KeyRecord[]>;

/** A caller that waits for the next query. */
interface Waiting {
  readonly names: readonly string[];
  readonly options: CallOptions | undefined;
  /** From `performance.now()`. */
  readonly since: number;
  resolve(rows: readonly KeyRecord[]): void;
  reject(error: unknown): void;
}

/**
 * After this many milliseconds, a query no longer takes a slot. On a half-open connection it may
 * never be answered, and it must not block queries on other connections that long.
 */
export const HANGS_AFTER_MS = 1_000;

/** The most names in one query. */
const MAX_NAMES = 1000;

/**
 * A caller that has waited longer than this, in milliseconds, is checked for having given up.
 * Younger callers are not: creating a signal costs more than looking up a name.
 */
const ASKED_AFTER_MS = 100;

/**
 * Combines look-ups without changing any answer. Each caller gets the rows of its own names,
 * compared byte for byte, and a query is sent only after all of its callers have asked.
 *
 * While all slots are taken, callers queue, and then share a query. A caller that has given up by
 * then is left out and rejected with the reason of its signal.
 *
 * @param nameOf Returns the name of a row.
 * @param slots The limit on queries. Several kinds of look-ups can share it.
 */
export function batchLookUps(
  find: Find,
  nameOf: (row: KeyRecord) => unknown = ({ digest }) => digest,
  slots: Slots = createSlots(DEFAULT_QUERIES, HANGS_AFTER_MS),
): LookUp {
  let waiting: Waiting[] = [];

  function enter(): void {
    void slots.take(send);
  }

  async function send(): Promise<void> {
    const batch = takeBatch(waiting);
    waiting = batch.rest;
    const answered = answerAll(batch, find, nameOf);
    // The rest goes with the next query, at once if a slot is free.
    if (waiting.length > 0) enter();
    await answered;
  }

  return (names, options) =>
    new Promise((resolve, reject) => {
      waiting.push({ names, options, since: performance.now(), resolve, reject });
      // A microtask would run before the other requests of the same turn.
      if (waiting.length === 1) nextTurn(enter);
    });
}

/**
 * Runs a function in the next turn, after all events of this one. Without `setImmediate`, it runs
 * in a microtask, which still comes after the current event.
 */
const nextTurn: (run: () => void) => unknown =
  (globalThis as { setImmediate?: typeof queueMicrotask }).setImmediate ?? queueMicrotask;

// ── One query ───────────────────────────────────────────────────────────────────────────────────

/** The callers that share one query, and the names they ask for. */
interface Batch {
  readonly callers: readonly Waiting[];
  readonly names: ReadonlySet<string>;
  /** The callers that wait for the next query. */
  readonly rest: Waiting[];
}

/** Takes as many callers as fit one query, at least one, and skips those that have given up. */
function takeBatch(waiting: Waiting[]): Batch {
  const before = performance.now() - ASKED_AFTER_MS;
  const callers: Waiting[] = [];
  const names = new Set<string>();
  let next = 0;
  for (const caller of waiting) {
    const isFull = names.size + caller.names.length > MAX_NAMES;
    if (isFull && names.size > 0) break;
    next += 1;
    if (caller.since < before && isGone(caller)) continue;
    callers.push(caller);
    for (const name of caller.names) names.add(name);
  }
  return { callers, names, rest: waiting.slice(next) };
}

/** Rejects a caller that has given up. Returns whether it has. */
function isGone({ options, reject }: Waiting): boolean {
  const signal = options?.signal;
  if (!signal?.aborted) return false;
  reject(signal.reason);
  return true;
}

/** Resolves every caller in a batch, or rejects every caller. Never rejects itself. */
async function answerAll(
  { callers, names }: Batch,
  find: Find,
  nameOf: (row: KeyRecord) => unknown,
): Promise<void> {
  if (callers.length === 0) return;
  try {
    const rows: KeyRecord[] = [];
    // More than one chunk only if a single caller asks for more than fits a query.
    for (const chunk of inChunks([...names])) rows.push(...(await find(chunk)));
    const byName = groupByName(rows, nameOf);
    for (const caller of callers) {
      const own = new Set(caller.names);
      caller.resolve([...own].flatMap((name) => byName.get(name) ?? []));
    }
  } catch (error) {
    for (const caller of callers) caller.reject(error);
  }
}

/** With a map: comparing each row with each caller's names takes seconds when there are many. */
function groupByName(
  rows: readonly KeyRecord[],
  nameOf: (row: KeyRecord) => unknown,
): ReadonlyMap<unknown, readonly KeyRecord[]> {
  const groups = new Map<unknown, KeyRecord[]>();
  for (const row of rows) {
    const name = nameOf(row);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [row]);
    else group.push(row);
  }
  return groups;
}

function inChunks(names: readonly string[]): string[][] {
  const chunks: string[][] = [];
  for (let start = 0; start < names.length; start += MAX_NAMES) {
    chunks.push(names.slice(start, start + MAX_NAMES));
  }
  return chunks;
}
