/** Tests that a write changes one record and leaves every other record unchanged. */
import type { KeyRecord, Usage } from '../../core/record.js';
import type { Awaitable, KeyStore, Mark } from '../../core/store.js';
import { same } from '../assertions.js';
import { overlap, succeeds } from './calls.js';
import { type StoreFixture, TIME, uuid } from './fixture.js';
import { after, resumeAt, retireAt, revokeAt, suspendAt, withdrawAt } from './marks.js';
import { byDigest } from './order.js';

/**
 * Writes to one record in every way and checks ten similar records after each write. None of them
 * may change.
 *
 * Catches: a WHERE clause that matches more than one key.
 */
export async function leavesOthersAlone(fixture: StoreFixture): Promise<void> {
  const { store, record, add, holds } = fixture;
  const guest = uuid();
  const keyId = uuid().replace(/..$/, 'aa');
  const accessibleEntities = [fixture.entityId, guest];
  const target = await add({ keyId, accessibleEntities, metadata: { a: 'b' } });
  const { digest } = target;
  const others = await addOthers(fixture, target);
  const used = { lastUsedAt: TIME + 90, scopesUsed: { 'a:b': TIME + 90 } };
  const marks = [
    retireAt(TIME + 90),
    suspendAt(TIME + 90),
    resumeAt(TIME + 91),
    withdrawAt(TIME + 90, guest),
    revokeAt(TIME + 90),
  ];
  const marking = marks.map((mark) => [mark.kind, () => store.mark(keyId, mark)] as const);
  const writes: Readonly<Record<string, () => Awaitable<unknown>>> = {
    insert: () => store.insert(record()),
    'a rejected insert': () => succeeds(() => store.insert(record({ digest }))),
    touch: () => store.touch([{ keyId, ...used }]),
    ...Object.fromEntries(marking),
    'revoke again': () => store.mark(keyId, revokeAt(TIME + 91)),
    'touch of an unknown key': () => store.touch([{ keyId: uuid(), ...used }]),
    'revoke of an unknown key': () => store.mark(uuid(), revokeAt(TIME)),
    reads: () => readEverything(store, target),
  };
  for (const [name, write] of Object.entries(writes)) {
    await write();
    for (const other of others) {
      await holds(other, `another record, after ${name}`);
    }
  }
  await holds({ ...after(target, ...marks), ...used }, 'the record itself, after all writes');
}

/** Adds records that a lax condition could confuse with `target`. */
async function addOthers(
  { record, add }: StoreFixture,
  target: KeyRecord,
): Promise<readonly KeyRecord[]> {
  const { keyId, digest, entityId, accessibleEntities } = target;
  const owner = uuid();
  const variants: readonly Partial<KeyRecord>[] = [
    { keyId: keyId.replace(/..$/, 'ab') },
    { digest: `${digest.slice(0, -1)}e`, rotatedFrom: keyId, rootKeyId: keyId },
    { ...target, keyId: uuid(), digest: record().digest },
    { lastUsedAt: TIME + 1, scopesUsed: { 'a:b': TIME + 1 } },
    { retireAt: TIME + 1 },
    { suspendedAt: TIME + 1, endedBy: 'ada', endReason: 'in doubt', changedAt: TIME + 1 },
    { revokedAt: TIME + 1 },
    { entityId: owner, accessibleEntities: [entityId, owner] },
    { accessibleEntities, rootKeyId: keyId },
    { entityId: owner, accessibleEntities: [...accessibleEntities, owner] },
  ];
  const others: KeyRecord[] = [];
  for (const given of variants) {
    others.push(await add(given));
  }
  return others;
}

/** Calls every read at once. */
function readEverything(store: KeyStore, { keyId, digest }: KeyRecord): Promise<unknown> {
  return Promise.all([
    store.summarize?.(TIME * 5),
    store.listExpiring?.({ before: TIME, after: null, limit: 10 }),
    store.listAll?.({ after: null, limit: 10 }),
    store.listChanged?.({ since: TIME, limit: 10 }),
    store.listLineage({ rootKeyId: keyId, after: null, limit: 10 }),
    store.findById(keyId),
    store.findByDigest([digest]),
  ]);
}

/** A write and its effect on a record. */
interface Write {
  readonly run: (store: KeyStore, row: KeyRecord) => Awaitable<unknown>;
  /** Whether the record must exist before the write. */
  readonly exists: boolean;
  readonly changed: (row: KeyRecord) => KeyRecord;
}

const USED: Usage = { lastUsedAt: TIME + 6, scopesUsed: { 'a:b': TIME + 6 } };

/** Returns a write of a mark. */
function marking(mark: Mark): Write {
  return {
    run: (store, { keyId }) => store.mark(keyId, mark),
    exists: true,
    changed: (row) => after(row, mark),
  };
}

/** This is a function because Workers cannot make random values while they load a module. */
function writesOfEachKind(): readonly Write[] {
  return [
    { run: (store, row) => store.insert(row), exists: false, changed: (row) => row },
    {
      run: (store, { keyId }) => store.touch([{ keyId, ...USED }]),
      exists: true,
      changed: (row) => ({ ...row, ...USED }),
    },
    marking(revokeAt(TIME + 5)),
    marking(retireAt(TIME + 5)),
    marking(withdrawAt(TIME + 5, uuid())),
  ];
}

/**
 * Writes to four records of one entity at once, starting with every combination of two kinds of
 * writes. Each record must show its own write and nothing else.
 *
 * Catches: one document per entity that is read and written back over concurrent writes.
 */
export async function writesSpareOthers(fixture: StoreFixture): Promise<void> {
  // Every combination uses a new entity, so that no later write can repair a lost one.
  const writes = writesOfEachKind();
  const meetings = writes.flatMap((first) =>
    writes.map((_, start) => {
      const rotated = [...writes.slice(start), ...writes.slice(0, start)];
      return [first, ...rotated.slice(0, 3)];
    }),
  );
  await Promise.all(meetings.map((each) => writeAtOnce(fixture, each)));
}

/** Runs the writes at once, each on a different record of one entity. */
async function writeAtOnce(
  { store, record }: StoreFixture,
  writes: readonly Write[],
): Promise<void> {
  const entityId = uuid();
  const targets = writes.map((write) => {
    const row = record({ entityId, accessibleEntities: [entityId] });
    return { row, write };
  });
  for (const { row, write } of targets) {
    if (write.exists) await store.insert(row);
  }
  const calls = targets.map(({ row, write }) => {
    return () => write.run(store, row);
  });
  await overlap(store, calls);
  const found = await store.findByDigest(targets.map(({ row }) => row.digest));
  const expected = targets.map(({ row, write }) => write.changed(row));
  const what = 'findByDigest, after parallel writes to keys of one entity';
  same(byDigest(found), byDigest(expected), what);
}
