/**
 * The look-ups of a store whose queries cross a network. They are sent together, those of one turn
 * of the event loop and those that wait for others, and few queries at a time.
 */
import { assert, readFields } from '../core/input.js';
import type { KeyRecord } from '../core/record.js';
import type { CallOptions } from '../core/store.js';
import { isUuid } from '../core/uuid.js';
import { createQuerySlots, nextTurn, type QuerySlots, readMaxQueries } from './query-slots.js';
import type { LookUps } from './reads.js';

// ── The look-ups of a SQL server ────────────────────────────────────────────────────────────────

/** How the store itself looks up. */
export interface Finders {
  readonly digests: Find;
  readonly ids: Find;
}

/** What a store of a SQL server reads of its options. */
export interface LookUpOptions {
  /** At most this many queries at a time; null sends a query for each look-up, at once. */
  readonly maxQueries: number | null;
  /** Whether look-ups are prepared statements. */
  readonly prepare: boolean;
}

/** Reads the options `batch`, `maxLookUpQueries` and `prepare`, and refuses any other. */
export function readLookUpOptions(options: unknown, where: string): LookUpOptions {
  const names = ['batch', 'maxLookUpQueries', 'prepare'] as const;
  const { batch = true, maxLookUpQueries, prepare = true } = readFields(options, names, where);
  assert(typeof batch === 'boolean', `${where}: batch is true or false`);
  assert(typeof prepare === 'boolean', `${where}: prepare is true or false`);
  const maxQueries = readMaxQueries(maxLookUpQueries, where);
  return { maxQueries: batch ? maxQueries : null, prepare };
}

/** Looks up by digest and by id, as the options say. An id is always a lower-case UUID. */
export function createLookUps(
  { digests, ids }: Finders,
  maxQueries: LookUpOptions['maxQueries'],
): LookUps {
  const isBatched = maxQueries !== null;
  const slots = isBatched ? createQuerySlots(maxQueries) : undefined;
  const lookUpIds = isBatched ? batchLookUps(ids, ({ keyId }) => keyId, slots) : ids;
  const lookUpDigests = isBatched ? batchLookUps(digests, ({ digest }) => digest, slots) : digests;

  return {
    findByDigest: lookUpDigests,

    async findById(keyId, options) {
      if (!isUuid(keyId)) return null;
      const records = await lookUpIds([keyId], options);
      return records[0] ?? null;
    },
  };
}

// ── Look-ups that go together ───────────────────────────────────────────────────────────────────

/** Looks records up by their names, which are digests or ids. */
export type Find = (names: readonly string[]) => Promise<readonly KeyRecord[]>;

/** The same for one caller. */
type LookUp = (names: readonly string[], options?: CallOptions) => Promise<readonly KeyRecord[]>;

/** A caller that waits for the next query. */
interface Waiting {
  readonly names: readonly string[];
  readonly options: CallOptions | undefined;
  /** By `performance.now()`. */
  readonly since: number;
  resolve(rows: readonly KeyRecord[]): void;
  reject(error: unknown): void;
}

/** At most this many names are sent as one query. */
const MAX_NAMES = 1000;

/**
 * Who has waited for longer, in milliseconds, is asked whether anybody still wants the answer: a
 * signal costs more to make than a name costs to look up.
 */
const ASKED_AFTER_MS = 100;

/**
 * Combines look-ups, without changing any answer: each caller gets the rows of its own names,
 * compared byte for byte, and a query is sent after all of its callers have asked.
 *
 * While all places are taken, callers wait and then go together. Whoever has given up by then is
 * not looked up, and gets the reason of its signal.
 *
 * @param nameOf The name of a row.
 * @param slots Where the queries count. Several kinds of look-ups can share them.
 */
export function batchLookUps(
  find: Find,
  nameOf: (row: KeyRecord) => unknown = ({ digest }) => digest,
  slots: QuerySlots = createQuerySlots(),
): LookUp {
  let waiting: Waiting[] = [];

  function enter(): void {
    slots.enter(send);
  }

  async function send(): Promise<void> {
    const batch = takeBatch(waiting);
    waiting = batch.rest;
    const answered = answerAll(batch, find, nameOf);
    // The rest goes with the next query, at once if there is a place for it.
    if (waiting.length > 0) enter();
    await answered;
  }

  return (names, options) =>
    new Promise((resolve, reject) => {
      waiting.push({ names, options, since: performance.now(), resolve, reject });
      // A microtask would be too early for the other requests of the same turn.
      if (waiting.length === 1) nextTurn(enter);
    });
}

// ── One query ───────────────────────────────────────────────────────────────────────────────────

/** Those who go with one query, and what they ask for. */
interface Batch {
  readonly callers: readonly Waiting[];
  readonly names: ReadonlySet<string>;
  /** Those who wait for the next one. */
  readonly rest: Waiting[];
}

/** As many callers as one query can take, at least one, without those who have given up. */
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

/** Tells a caller that has given up so, and whether it has. */
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
    // Only one caller that asks for more than a query takes makes several.
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

/** By a map: comparing each row with each caller's names takes seconds where there are many. */
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
