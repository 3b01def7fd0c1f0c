/** The rule of `purgeEnded`, for the stores of every engine. */
import fc from 'fast-check';
import type { Awaitable, KeyRecord, KeyStore, Mark } from 'keyscope';
import { expect, test } from 'vitest';
import { applyMark } from '../../src/stores/marks.ts';
import { HOUR, OTHER, OWN, THIRD } from './keyring.ts';
import { runs } from './runs.ts';
import { unsealed } from './unsealed.ts';

/** A place without keys. */
export interface PurgePlace {
  readonly store: Required<KeyStore>;
  readonly purge: (endedBefore: Date) => Promise<readonly string[]>;
  /**
   * Makes the lists of a row unreadable, like someone with the database's password. The row keeps
   * its ids and its times.
   */
  readonly damage: (keyId: string) => unknown;
}

/** Makes a new place. It may clean up with `onTestFinished`. */
export type MakePlace = () => Awaitable<PurgePlace>;

/** The limit of the purges. Records are created before it unless a test says otherwise. */
const LIMIT = 1_000_000;
const BEFORE = LIMIT - 1;
/** After the limit, but in the past. */
const SINCE = LIMIT + 1;
const later = (): number => Date.now() + HOUR;

/** A key that addresses another entity, with these fields. */
function recordOf(given: Partial<KeyRecord> = {}): KeyRecord {
  return unsealed({ accessibleEntities: [OWN, OTHER], ...given }).record;
}

/** The successor of a key. */
function nextOf({ keyId, rootKeyId }: KeyRecord, given: Partial<KeyRecord> = {}): KeyRecord {
  return recordOf({ rootKeyId, rotatedFrom: keyId, ...given });
}

// ── The rule, in plain words ────────────────────────────────────────────────────────────────────

function endsOf({ revokedAt, retireAt, expiresAt }: KeyRecord): readonly number[] {
  return [revokedAt, retireAt, expiresAt].filter((end) => end !== null);
}

function isLive({ revokedAt, retireAt, expiresAt }: KeyRecord, now: number): boolean {
  const lasts = (end: number | null) => end === null || end > now;
  return revokedAt === null && lasts(retireAt) && lasts(expiresAt);
}

function isPurged(record: KeyRecord, all: readonly KeyRecord[], now: number): boolean {
  const { keyId, rootKeyId, createdAt, changedAt } = record;
  if (!endsOf(record).some((end) => end < LIMIT)) return false;
  if (createdAt >= LIMIT || (changedAt !== null && changedAt >= LIMIT)) return false;
  const isNeeded = all
    .filter((other) => other.rootKeyId === keyId || other.issuedUnder === keyId)
    .some((other) => isLive(other, now));
  return keyId !== rootKeyId || !isNeeded;
}

// ── One purge ───────────────────────────────────────────────────────────────────────────────────

const idsOf = (records: readonly KeyRecord[]) => records.map(({ keyId }) => keyId).sort();

function byId(records: readonly KeyRecord[]): readonly KeyRecord[] {
  return records.toSorted((one, other) => (one.keyId < other.keyId ? -1 : 1));
}

async function insertAll({ store }: PurgePlace, records: readonly KeyRecord[]): Promise<void> {
  for (const record of records) await store.insert(record);
}

/** Purges, and checks that these records are gone without a trace, and those are unchanged. */
async function expectPurged(
  { store, purge }: PurgePlace,
  gone: readonly KeyRecord[],
  kept: readonly KeyRecord[],
): Promise<void> {
  const deleted = await purge(new Date(LIMIT));
  expect(deleted.toSorted()).toEqual(idsOf(gone));
  const { items } = await store.listAll({ after: null, limit: 1000 });
  expect(byId(items)).toEqual(byId(kept));
  const place = { prefix: 'acme', entityId: OTHER, after: null, limit: 1000 } as const;
  const addressing = await store.list({ ...place, addressing: true });
  const foreign = kept.filter(({ entityId }) => entityId !== OTHER);
  expect(idsOf(addressing)).toEqual(idsOf(foreign));
  const found = gone.map(async ({ keyId }) => store.findById(keyId));
  expect((await Promise.all(found)).filter((record) => record !== null)).toEqual([]);
  expect(await store.findByDigest(gone.map(({ digest }) => digest))).toEqual([]);
  for (const rootKeyId of new Set(gone.map((record) => record.rootKeyId))) {
    const lineage = await store.listLineage({ rootKeyId, after: null, limit: 1000 });
    expect(idsOf(lineage).filter((keyId) => deleted.includes(keyId))).toEqual([]);
  }
  // Once more, when there is nothing left to do.
  expect(await purge(new Date(LIMIT))).toEqual([]);
}

/** Purges a place with these records. */
async function expectRule(
  make: MakePlace,
  gone: readonly KeyRecord[],
  kept: readonly KeyRecord[],
): Promise<void> {
  const place = await make();
  await insertAll(place, [...kept, ...gone]);
  await expectPurged(place, gone, kept);
}

// ── The tests ───────────────────────────────────────────────────────────────────────────────────

function testEnds(make: MakePlace): void {
  test('deletes the keys whose first end was before the time', async () => {
    const gone = [
      recordOf({ revokedAt: BEFORE }),
      recordOf({ retireAt: BEFORE }),
      recordOf({ expiresAt: BEFORE }),
      recordOf({ revokedAt: BEFORE, retireAt: LIMIT, expiresAt: later() }),
      recordOf({ revokedAt: LIMIT, retireAt: -5, expiresAt: LIMIT }),
      recordOf({ revokedAt: SINCE, retireAt: LIMIT, expiresAt: 0 }),
      recordOf({ expiresAt: BEFORE, suspendedAt: 5, lastUsedAt: SINCE }),
      recordOf({ expiresAt: -8.64e15 }),
    ];
    const kept = [
      recordOf(),
      recordOf({ suspendedAt: 5, changedAt: 5 }),
      recordOf({ lastUsedAt: 5, withdrawn: [OTHER] }),
      recordOf({ revokedAt: LIMIT }),
      recordOf({ retireAt: LIMIT }),
      recordOf({ expiresAt: LIMIT }),
      recordOf({ revokedAt: LIMIT, retireAt: SINCE, expiresAt: later() }),
      recordOf({ expiresAt: later() }),
    ];
    await expectRule(make, gone, kept);
  });

  test('keeps an ended key that was created or changed at the time or later', async () => {
    const ended = { revokedAt: BEFORE };
    const gone = [
      recordOf({ ...ended, createdAt: BEFORE }),
      recordOf({ ...ended, changedAt: BEFORE }),
    ];
    const kept = [LIMIT, SINCE].flatMap((time) => [
      recordOf({ ...ended, createdAt: time }),
      recordOf({ ...ended, changedAt: time }),
      // A young key that an edit by hand has dated back.
      recordOf({ createdAt: time, retireAt: 1 }),
      recordOf({ createdAt: time, expiresAt: 1 }),
    ]);
    await expectRule(make, gone, kept);
  });

  test('goes by the times of marks, and keeps a key that was marked again since', async () => {
    const place = await make();
    const by = { by: 'ada', reason: 'over' };
    const revoke = { kind: 'revoke', at: BEFORE, ...by, seal: null } as const;
    const histories: readonly (readonly Mark[])[] = [
      [revoke],
      [{ kind: 'withdraw', at: SINCE, entityId: OTHER }, revoke],
      [revoke, { kind: 'withdraw', at: SINCE, entityId: OTHER }],
      [{ kind: 'retire', at: 5, retireAt: BEFORE, ...by }],
      [{ kind: 'retire', at: SINCE, retireAt: 1, ...by }],
      [{ kind: 'suspend', at: 5, ...by }],
      [{ kind: 'retire', at: 5, retireAt: SINCE, ...by }, revoke],
    ];
    const made = histories.map(() => recordOf());
    await insertAll(place, made);
    for (const [index, marks] of histories.entries()) {
      for (const mark of marks) await place.store.mark(made[index]?.keyId ?? '', mark);
    }
    const deleted = await place.purge(new Date(LIMIT));
    const gone = made.filter((_, index) => [0, 3, 6].includes(index));
    expect(deleted.toSorted()).toEqual(idsOf(gone));
  });
}

const ENDED = { revokedAt: 5 } as const;

function testChains(make: MakePlace): void {
  test.each([
    ['is live', {}],
    ['is suspended', { suspendedAt: 5 }],
    ['expires later', { expiresAt: later() }],
    ['retires later', { retireAt: later() }],
  ])('keeps the first key of a chain while a key of it or under it %s', async (_, given) => {
    const [rotated, distant, issuer, foreign] = [1, 2, 3, 4].map(() => recordOf(ENDED));
    if (!rotated || !distant || !issuer || !foreign) throw new Error('a key is missing');
    const middle = nextOf(distant, ENDED);
    const issued = recordOf({ issuedUnder: issuer.keyId, ...ENDED });
    const kept = [
      ...[rotated, nextOf(rotated, given)],
      // Between them is a key that has ended.
      ...[distant, nextOf(middle, given)],
      // The first key of the issued chain has a live key itself.
      ...[issuer, issued, nextOf(issued, { issuedUnder: issuer.keyId, ...given })],
      ...[foreign, nextOf(foreign, { entityId: OTHER, ...given })],
    ];
    await expectRule(make, [middle], kept);
  });

  test.each([
    ['before the time', BEFORE, true],
    ['at the time', LIMIT, false],
    ['later, but before now', SINCE, false],
  ])('deletes the first key of a chain whose last key ended %s', async (_, end, isOver) => {
    const ends = [{ revokedAt: end }, { retireAt: end }, { expiresAt: end }];
    const roots = ends.map(() => recordOf(ENDED));
    const issuers = ends.map(() => recordOf(ENDED));
    const last = [
      ...roots.map((root, index) => nextOf(root, ends[index])),
      ...issuers.map(({ keyId }, index) => recordOf({ issuedUnder: keyId, ...ends[index] })),
    ];
    const first = [...roots, ...issuers];
    await expectRule(make, isOver ? [...first, ...last] : first, isOver ? [] : last);
  });

  test('deletes an ended key that is not the first, also if others live', async () => {
    const first = recordOf();
    const second = nextOf(first, ENDED);
    const third = nextOf(second, ENDED);
    // It was issued under a key that is not the first of its chain.
    const issued = recordOf({ issuedUnder: third.keyId });
    const orphan = recordOf({ rootKeyId: crypto.randomUUID(), ...ENDED });
    await expectRule(make, [second, third, orphan], [first, nextOf(third), issued]);
  });

  test('is not stopped by a damaged row, and keeps the first row of its chain', async () => {
    const place = await make();
    const first = recordOf(ENDED);
    const live = nextOf(first);
    const damaged = recordOf(ENDED);
    const others = [recordOf({ revokedAt: 4 }), recordOf({ revokedAt: 6 })];
    await insertAll(place, [first, live, damaged, ...others]);
    for (const { keyId } of [live, damaged]) await place.damage(keyId);
    const deleted = await place.purge(new Date(LIMIT));
    // An engine may keep a row that it cannot read.
    expect(deleted.filter((keyId) => keyId !== damaged.keyId).toSorted()).toEqual(idsOf(others));
    expect(await place.store.findById(first.keyId)).toEqual(first);
    expect(await place.store.findById(live.keyId)).not.toBe(null);
  });
}

// ── The law ─────────────────────────────────────────────────────────────────────────────────────

/** The choices of a random key. The numbers pick one of the earlier keys, or none. */
const CHOICES = fc.record({
  end: fc.constantFrom('revokedAt', 'retireAt', 'expiresAt'),
  time: fc.constantFrom(5, BEFORE, LIMIT, SINCE, null, Number.POSITIVE_INFINITY),
  root: fc.integer({ min: -9, max: 9 }),
  issuer: fc.integer({ min: -20, max: 9 }),
  createdAt: fc.constantFrom(1, 2, 3, 4, BEFORE, SINCE),
  changedAt: fc.constantFrom(null, null, null, BEFORE, LIMIT),
  entityId: fc.constantFrom(OWN, OTHER),
  mark: fc.constantFrom('none', 'none', 'none', 'revoke', 'suspend', 'withdraw'),
  at: fc.constantFrom(6, BEFORE, LIMIT),
});

type Choices = typeof CHOICES extends fc.Arbitrary<infer T> ? T : never;

function chosen(choices: Choices, earlier: readonly KeyRecord[]): KeyRecord {
  const { end, time, root, issuer, createdAt, changedAt, entityId } = choices;
  const { rootKeyId } = earlier[root] ?? {};
  const issuedUnder = earlier[issuer]?.keyId ?? null;
  // A revocation is never in the future.
  const field = time === Number.POSITIVE_INFINITY ? 'expiresAt' : end;
  const made = { createdAt, changedAt, entityId, issuedUnder };
  const ends = { [field]: time === Number.POSITIVE_INFINITY ? later() : time };
  return recordOf({ ...made, ...(rootKeyId === undefined ? {} : { rootKeyId }), ...ends });
}

function markOf({ mark, at }: Choices): Mark | null {
  if (mark === 'none') return null;
  if (mark === 'withdraw') return { kind: mark, at, entityId: THIRD };
  return { kind: mark, at, by: null, reason: null, seal: null };
}

function testLaw(make: MakePlace): void {
  test('deletes exactly the keys that the rule names, whatever their histories', async () => {
    const law = fc.asyncProperty(
      fc.array(CHOICES, { minLength: 60, maxLength: 60 }),
      async (keys) => {
        const place = await make();
        const all: KeyRecord[] = [];
        for (const choices of keys) {
          const record = chosen(choices, all);
          const mark = markOf(choices);
          await place.store.insert(record);
          const marked = mark === null ? null : applyMark(record, mark);
          if (mark !== null) await place.store.mark(record.keyId, mark);
          all.push(marked ?? record);
        }
        const now = Date.now();
        const gone = all.filter((record) => isPurged(record, all, now));
        await expectPurged(
          place,
          gone,
          all.filter((record) => !gone.includes(record)),
        );
      },
    );
    await fc.assert(law, { numRuns: runs(2), endOnFailure: true });
  });
}

/** Registers the tests of the rule. Call it in a `describe`. */
export function purgeSuite(make: MakePlace): void {
  testEnds(make);
  testChains(make);
  testLaw(make);
}

/**
 * Registers the test of purges while keys are inserted, for stores whose purge is one step. A key
 * that can still read the first row of its chain after its own insert keeps that row. Elsewhere,
 * the key that makes the call keeps it: it is of the chain, and live. Call it in a `describe`.
 */
export function purgeRaces(make: MakePlace): void {
  test('keeps a first row that a key sees after its own insert meanwhile', async () => {
    const place = await make();
    const { store, purge } = place;
    const first = Array.from({ length: 30 }, () => recordOf(ENDED));
    await insertAll(place, first);
    const purging = purge(new Date(LIMIT));
    async function insertUnder(root: KeyRecord, index: number): Promise<readonly string[]> {
      for (let turn = 0; turn < index % 9; turn++) await new Promise(setImmediate);
      const { keyId } = root;
      await store.insert(index % 2 === 0 ? nextOf(root) : recordOf({ issuedUnder: keyId }));
      return (await store.findById(keyId)) === null ? [] : [keyId];
    }
    const seen = (await Promise.all(first.map(insertUnder))).flat();
    await purging;
    const { items } = await store.listAll({ after: null, limit: 1000 });
    const left = idsOf(items);
    expect(seen.filter((keyId) => !left.includes(keyId))).toEqual([]);
  });
}
