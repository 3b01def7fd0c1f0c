/**
 * Writes usage, in the background. It never waits long for a row that another transaction holds.
 */
import type { UsageEntry } from '../../core/store.js';
import { isUuid } from '../../core/uuid.js';
import { toInteger, type Value } from '../rows.js';
import { type UsageLimits, usageBatches } from '../writes.js';
import type { Connections, Row, Session } from './client.js';
import { affectedRows, rowsOf } from './client.js';
import { isLockTimeout } from './errors.js';
import { findFree, findUsage, HURRY, HURRY_NO_MORE, touchStatement } from './statements.js';
import { commit, withRetries } from './transactions.js';

/** Small enough for a statement to end long before its time limit. */
const LIMITS: UsageLimits = { keys: 200, characters: 200_000 };

/** How often a batch is retried while others write the same keys' usage. */
const ROUNDS = 100;
const CONTENDED = 'keyscope: touch: other processes keep writing the usage of the same keys';

/** The usage of a key that is written if the row is still as it was read. */
interface Write {
  readonly keyId: string;
  readonly lastUsedAt: number;
  /** As JSON: only the scopes whose time is later than the row's. */
  readonly scopesUsed: string;
  readonly version: string;
}

/** Runs work that waits at most a second for rows, and leaves the connection as it was. */
async function inHurry<Result>(session: Session, work: () => Promise<Result>): Promise<Result> {
  await session.query(HURRY);
  try {
    return await work();
  } finally {
    await session.query(HURRY_NO_MORE).catch(() => session.discard());
  }
}

function idOf({ keyId }: { readonly keyId: string }): string {
  return keyId;
}

function idOfRow({ key_id }: Row): unknown {
  return key_id;
}

/** Returns the times of a row's scopes, or null if they are damaged. */
function timesOf({ scopes_used }: Row): Readonly<Record<string, unknown>> | null {
  try {
    const times: unknown = JSON.parse(String(scopes_used));
    const isTable = typeof times === 'object' && times !== null && !Array.isArray(times);
    return isTable ? (times as Record<string, unknown>) : null;
  } catch {
    // Skip this row: it would fail every batch that contains the key.
    return null;
  }
}

/** Checks whether a time is later than a stored one, which may be missing or damaged. */
function isLater(time: number, stored: unknown): boolean {
  return typeof stored !== 'number' || !Number.isSafeInteger(stored) || time > stored;
}

/** Returns the part of an entry to write, or null if the row already has it or is damaged. */
function toWrite({ keyId, lastUsedAt, scopesUsed }: UsageEntry, row: Row): Write | null {
  const { last_used_at: storedAt, version } = row;
  const times = timesOf(row);
  if (times === null) return null;
  const stored = new Map(Object.entries(times));
  const later = Object.entries(scopesUsed).filter(([scope, time]) =>
    isLater(time, stored.get(scope)),
  );
  const isUsedLater = isLater(lastUsedAt, toInteger(storedAt));
  if (later.length === 0 && !isUsedLater) return null;
  const patch = JSON.stringify(Object.fromEntries(later));
  return { keyId, lastUsedAt, scopesUsed: patch, version: String(version) };
}

/** Compares entries with their rows. Unknown keys have none. */
async function findWrites(session: Session, entries: readonly UsageEntry[]): Promise<Write[]> {
  if (entries.length === 0) return [];
  const keyIds = entries.map(idOf);
  const rows = rowsOf(await commit(session, findUsage(keyIds), keyIds));
  const byId = new Map(rows.map((row) => [idOfRow(row), row]));
  return entries.flatMap((entry) => {
    const row = byId.get(entry.keyId);
    const write = row === undefined ? null : toWrite(entry, row);
    return write === null ? [] : [write];
  });
}

/** Writes the usage, and returns how many rows were still as they had been read. */
async function writeAll(session: Session, writes: readonly Write[]): Promise<number> {
  const keyIds = writes.map(idOf);
  const values: Value[] = [
    ...writes.flatMap(({ keyId, lastUsedAt }) => [keyId, lastUsedAt]),
    ...writes.flatMap(({ keyId, scopesUsed }) => [keyId, scopesUsed]),
    ...keyIds,
    ...writes.flatMap(({ keyId, version }) => [keyId, version]),
  ];
  const answer = await commit(session, touchStatement(writes.length), values);
  return affectedRows(answer);
}

/**
 * Reads and writes without a lock in between, so that batches do not wait for each other over a
 * busy key. The slower batch finds another version, and reads again.
 */
async function touchAll(session: Session, entries: readonly UsageEntry[]): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const writes = await findWrites(session, entries);
    if (writes.length === 0) return;
    if ((await writeAll(session, writes)) === writes.length) return;
  }
  throw new Error(CONTENDED);
}

/** Returns those entries of a batch whose rows nobody holds. */
async function freeAmong(
  session: Session,
  entries: readonly UsageEntry[],
): Promise<readonly UsageEntry[]> {
  const keyIds = entries.map(idOf);
  const rows = rowsOf(await commit(session, findFree(keyIds), keyIds));
  const free = new Set(rows.map(idOfRow));
  return entries.filter(({ keyId }) => free.has(keyId));
}

/**
 * Writes one batch. If another transaction holds one of the rows for too long, writes the other
 * rows and returns the error.
 */
async function touchBatch(session: Session, entries: readonly UsageEntry[]): Promise<unknown> {
  try {
    await touchAll(session, entries);
    return undefined;
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    await touchAll(session, await freeAmong(session, entries));
    return error;
  }
}

/** Writes all batches, and then returns an error if some keys could not be written. */
async function touchBatches(session: Session, batches: readonly string[]): Promise<unknown> {
  let failure: unknown;
  for (const batch of batches) {
    const error = await touchBatch(session, JSON.parse(batch) as UsageEntry[]);
    failure ??= error;
  }
  return failure;
}

/** Writes usage. If some keys cannot be written, writes all others and then throws. */
export async function touch(
  connections: Connections,
  entries: readonly UsageEntry[],
): Promise<void> {
  const batches = usageBatches(entries, isUuid, LIMITS);
  if (batches.length === 0) return;
  const failure = await withRetries(connections, (session) =>
    inHurry(session, () => touchBatches(session, batches)),
  );
  if (failure !== undefined) throw failure;
}
