/** Tests of the optional listings over all entities. */
import type { KeyRecord } from '../../core/record.js';
import type { Awaitable, ChangedKey, KeyStore, Slice } from '../../core/store.js';
import { check, same } from '../assertions.js';
import { LAST, type StoreFixture, TIME, uuid } from './fixture.js';
import { after, resumeAt, retireAt, revokeAt, suspendAt, withdrawAt } from './marks.js';
import { among, byDigest } from './order.js';

/** How many empty parts a listing may return before the test reports it as endless. */
const MOST_EMPTY_PARTS = 10_000;

/** A method that a store may lack. */
type OptionalMethod = 'listAll' | 'listExpiring' | 'listChanged';

function has<M extends OptionalMethod>(
  store: KeyStore,
  method: M,
): store is KeyStore & Required<Pick<KeyStore, M>> {
  return store[method] !== undefined;
}

/** Reads the part of a listing that follows `after`. */
type ReadPart = (after: string | null) => Awaitable<Slice<KeyRecord>>;

/** Reads every record of a listing, part by part. Calls `between` after each part. */
async function readParts(
  limit: number,
  read: ReadPart,
  between: () => Awaitable<unknown> = () => {},
): Promise<readonly KeyRecord[]> {
  const seen = new Map<string, KeyRecord>();
  let position: string | null = null;
  let empty = 0;
  for (;;) {
    const { items, next }: Slice<KeyRecord> = await read(position);
    check(items.length <= limit, `a part has ${items.length} records for a limit of ${limit}`);
    for (const row of items) {
      check(!seen.has(row.keyId), `parts of ${limit} repeat a record`);
      seen.set(row.keyId, row);
    }
    if (items.length === 0) empty += 1;
    check(empty <= MOST_EMPTY_PARTS, `parts of ${limit} never end`);
    if (next === null) return [...seen.values()];
    same(typeof next, 'string', 'the type of next');
    position = next;
    await between();
  }
}

/** Adds a key of another entity; an odd `index` gives another prefix. The state varies too. */
function addAny({ prefix, add }: StoreFixture, index: number): Promise<KeyRecord> {
  const owner = uuid();
  const states: readonly Partial<KeyRecord>[] = [
    {},
    { revokedAt: TIME },
    { suspendedAt: TIME },
    { retireAt: 0 },
    { expiresAt: 0 },
    { rootKeyId: uuid(), withdrawn: [uuid()] },
  ];
  return add({
    ...states[index % states.length],
    prefix: index % 2 === 0 ? prefix : 'other',
    entityId: owner,
    accessibleEntities: [owner, uuid()],
    createdAt: TIME + (index % 5),
  });
}

/**
 * Reads the records of all entities in long and short parts while adding keys. The parts must
 * contain every original record once, of any entity, prefix and state.
 *
 * Catches: parts that repeat or skip records, omitting ended keys, and listing one entity or prefix
 * only.
 */
export async function listsAll(fixture: StoreFixture): Promise<void> {
  const { store } = fixture;
  if (!has(store, 'listAll')) return;
  const made = await Promise.all(Array.from({ length: 30 }, (_, index) => addAny(fixture, index)));
  const readWith = (limit: number) => (position: string | null) =>
    store.listAll({ after: position, limit });
  const all = await readParts(1000, readWith(1000));
  same(byDigest(among(all, made)), byDigest(made), 'listAll in parts of 1,000');
  // About ten parts, however many records other tests have left.
  const limit = Math.ceil(all.length / 10);
  const between = () => addAny(fixture, 0);
  const again = await readParts(limit, readWith(limit), between);
  same(byDigest(among(again, all)), byDigest(all), `listAll in parts of ${limit}`);
}

/**
 * Lists the keys that expire before a time, with and without a start: keys that expire just before,
 * at and after it, never, or simultaneously, of several entities and prefixes and in every state.
 * The listing must omit only revoked keys and sort by expiry, then by id.
 *
 * Catches: an inclusive `before`, an exclusive or ignored `from`, listing revoked keys, omitting
 * other ended keys, sorting by creation, and parts that fail when several keys expire at once.
 */
export async function listsExpiring(fixture: StoreFixture): Promise<void> {
  const { store, add } = fixture;
  if (!has(store, 'listExpiring')) return;
  // So early that few keys of other tests interfere.
  const before = 1000 - LAST + Math.floor(Math.random() * 1e12);
  const expected = await addExpiring(fixture, before);
  await add({ expiresAt: before });
  await add({ expiresAt: before + 1 });
  await add({ expiresAt: null });
  await add({ expiresAt: before - 1, revokedAt: TIME });
  for (const limit of [1000, 1, 3, 7]) {
    const read: ReadPart = (position) => store.listExpiring({ before, after: position, limit });
    const between = () => add({ expiresAt: before - 5 });
    const rows = await readParts(limit, read, limit === 7 ? between : undefined);
    same(among(rows, expected), expected, `listExpiring in parts of ${limit}`);
    const isOrdered = rows.every((row, index) => isSooner(rows[index - 1], row));
    check(isOrdered, `listExpiring in parts of ${limit} is not sorted`);
    const times = rows.map(({ expiresAt }) => expiresAt ?? LAST);
    const isBefore = Math.max(...times) < before;
    check(isBefore, 'listExpiring contains a key that expires at `before` or later');
    const revoked = rows.filter(({ revokedAt }) => revokedAt !== null);
    same(revoked, [], 'revoked keys in listExpiring');
  }
  // Starts at the third of the four times, and just after the second.
  for (const from of [before - 11, before - 20]) {
    const later = expected.filter(({ expiresAt }) => Number(expiresAt) >= from);
    for (const limit of [1000, 3]) {
      const read: ReadPart = (position) =>
        store.listExpiring({ from, before, after: position, limit });
      const rows = await readParts(limit, read);
      same(among(rows, expected), later, `listExpiring with from, in parts of ${limit}`);
    }
  }
}

/** Adds keys that expire before a time, and returns them in the order of the listing. */
async function addExpiring(fixture: StoreFixture, before: number): Promise<readonly KeyRecord[]> {
  const { prefix, add } = fixture;
  const states: readonly Partial<KeyRecord>[] = [
    {},
    { suspendedAt: TIME, changedAt: TIME },
    { retireAt: 0 },
    { prefix: `${prefix}x` },
  ];
  const made: KeyRecord[] = [];
  for (let index = 0; index < 16; index++) {
    // Four keys at each of four times, the last of which is just before the limit.
    const expiresAt = before - 1 - (index % 4) * 10;
    const state = states[Math.floor(index / 4)] ?? {};
    made.push(await add({ ...state, expiresAt, entityId: uuid(), createdAt: TIME + index }));
  }
  return made.sort((one, other) => (isSooner(one, other) ? -1 : 1));
}

/** Whether `one` comes before `other` in the listing of expiring keys. */
function isSooner(one: KeyRecord | undefined, other: KeyRecord): boolean {
  if (one === undefined) return true;
  if (one.expiresAt === other.expiresAt) return one.keyId < other.keyId;
  return Number(one.expiresAt) < Number(other.expiresAt);
}

/**
 * Marks keys in every way, at different times, and lists the changes. The answer must contain each
 * key marked at `since` or later once, with the time of its newest mark, oldest first and up to the
 * limit. It must not contain keys without a mark.
 *
 * Catches: a kind of mark that does not write `changedAt`, an exclusive `since`, listing a key once
 * per mark, and returning the newest first when there is a limit.
 */
export async function listsChanged(fixture: StoreFixture): Promise<void> {
  const { store, add } = fixture;
  if (!has(store, 'listChanged')) return;
  // So late that few keys of other tests interfere.
  const since = LAST - 1000 - Math.floor(Math.random() * 1e12);
  const never = await add();
  const early = await add();
  await store.mark(early.keyId, suspendAt(since - 1));
  const expected = await markInEveryWay(fixture, since);
  const read = async (from: number, limit: number): Promise<readonly ChangedKey[]> =>
    store.listChanged({ since: from, limit });
  const ids = new Set([never, early, ...expected].map(({ keyId }) => keyId));
  const own = (rows: readonly ChangedKey[]) => rows.filter(({ keyId }) => ids.has(keyId));
  const all = await read(since, 1000);
  same(own(all), expected, 'listChanged since the first mark');
  const isOrdered = all.every(
    ({ changedAt }, index) => changedAt >= (all[index - 1]?.changedAt ?? since),
  );
  check(isOrdered, 'listChanged is not sorted, or contains keys changed before `since`');
  for (const limit of [1, 3]) {
    same(await read(since, limit), all.slice(0, limit), `listChanged with limit ${limit}`);
  }
  const later = await read(since + 2, 1000);
  same(own(later), expected.slice(2), 'listChanged from a time between the marks');
}

/**
 * Marks seven keys in one millisecond and reads shorter parts. They must contain each key once,
 * sorted by id, and every part except the last must be full. Then it marks the last key of a part
 * again: the next part must start after the key's old position and contain the key at its new one.
 *
 * Catches: parts that start at a time and never get past it or skip the rest of it; unsorted ties;
 * looking up the position in the rows.
 */
export async function pagesThroughChanged(fixture: StoreFixture): Promise<void> {
  const { store, add } = fixture;
  if (!has(store, 'listChanged')) return;
  const at = LAST - 1000 - Math.floor(Math.random() * 1e12);
  const made = await Promise.all(Array.from({ length: 7 }, () => add()));
  const ids = made.map(({ keyId }) => keyId).sort();
  for (const keyId of ids.toReversed()) await store.mark(keyId, suspendAt(at));
  const read = (limit: number, from?: ChangedKey): Promise<readonly ChangedKey[]> =>
    readChanges((after) => store.listChanged({ since: at, after, limit }), limit, at + 2, from);
  const expected = ids.map((keyId) => ({ keyId, changedAt: at }));
  const own = (rows: readonly ChangedKey[]) => rows.filter(({ keyId }) => ids.includes(keyId));
  for (const limit of [1, 3, 7, 1000]) {
    same(own(await read(limit)), expected, `listChanged in parts of ${limit}`);
  }
  const third = { keyId: ids[2] ?? '', changedAt: at };
  const moved = { ...third, changedAt: at + 1 };
  const others = expected.slice(3);
  await store.mark(third.keyId, resumeAt(moved.changedAt));
  same(own(await read(3, third)), [...others, moved], 'listChanged after a key that moved');
  const again = [...expected.slice(0, 2), ...others, moved];
  same(own(await read(3)), again, 'listChanged from the beginning, after a key has moved');
}

/** Reads every key after a position and up to a time, part by part. */
async function readChanges(
  readPart: (after: ChangedKey | null) => Awaitable<readonly ChangedKey[]>,
  limit: number,
  until: number,
  from: ChangedKey | null = null,
): Promise<readonly ChangedKey[]> {
  const seen = new Map<string, ChangedKey>();
  let after = from;
  for (;;) {
    const part = await readPart(after);
    for (const row of part) {
      check(!seen.has(row.keyId), `parts of ${limit} of listChanged repeat a key`);
      seen.set(row.keyId, row);
    }
    after = part.at(-1) ?? null;
    if (part.length < limit || after === null || after.changedAt > until) break;
  }
  return [...seen.values()];
}

/** Marks six keys, one per millisecond, and one of them twice. */
async function markInEveryWay(
  { store, add }: StoreFixture,
  since: number,
): Promise<readonly ChangedKey[]> {
  const suspended = await add({ suspendedAt: TIME, changedAt: TIME });
  const twice = await add();
  const marks = [
    { row: await add(), mark: revokeAt(since) },
    { row: await add(), mark: suspendAt(since + 1) },
    { row: await add(), mark: { ...retireAt(since + 2), retireAt: TIME } },
    { row: await add(), mark: withdrawAt(since + 3, uuid()) },
    { row: suspended, mark: resumeAt(since + 4) },
    { row: after(twice, suspendAt(since)), mark: resumeAt(since + 5) },
  ];
  await store.mark(twice.keyId, suspendAt(since));
  const changed: ChangedKey[] = [];
  for (const [index, { row, mark }] of marks.entries()) {
    same(await store.mark(row.keyId, mark), true, `mark ${mark.kind}`);
    changed.push({ keyId: row.keyId, changedAt: since + index });
  }
  return changed;
}
