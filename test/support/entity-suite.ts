/** Ids of entities that are not UUIDs, for the stores of every engine. */
import type { Awaitable, KeyRecord, KeyStore } from 'keyscope';
import { expect, test } from 'vitest';
import { HOSTILE_IDS } from './entity-ids.ts';
import { HOUR, OWN, PLAIN, setUp } from './keyring.ts';
import { unsealed } from './unsealed.ts';

/** A place without keys. */
export interface EntityPlace {
  readonly store: Required<KeyStore>;
  /** Deletes the keys that ended before a time, if the store can. */
  readonly purge?: (endedBefore: Date) => Awaitable<readonly string[]>;
}

/** Makes a new place. It may clean up with `onTestFinished`. */
export type MakeEntityPlace = () => Awaitable<EntityPlace>;

/** Hostile ids, and a UUID in both cases: a service with texts may have both. */
const IDS: readonly string[] = [...HOSTILE_IDS, OWN, OWN.toUpperCase()];
const PAGE = { prefix: 'acme', after: null, limit: 100 } as const;

/** Returns the id after another one in the list of all. */
function nextTo(id: string): string {
  return IDS[(IDS.indexOf(id) + 1) % IDS.length] ?? '';
}

/** One key of each id, which addresses the next id. */
function oneOfEach(given: Partial<KeyRecord> = {}): ReadonlyMap<string, KeyRecord> {
  const made = IDS.map((id) => {
    const entities = { entityId: id, accessibleEntities: [id, nextTo(id)] };
    return [id, unsealed({ ...entities, ...given }).record] as const;
  });
  return new Map(made);
}

/** Checks that each id has its own key alone, and is addressed by the key before it alone. */
async function expectListed(store: KeyStore, keys: ReadonlyMap<string, KeyRecord>): Promise<void> {
  for (const id of IDS) {
    const query = { ...PAGE, entityId: id };
    expect(await store.list(query), id).toEqual([keys.get(id)]);
    const next = { ...PAGE, entityId: nextTo(id), addressing: true };
    expect(await store.list(next), `${nextTo(id)}, addressed`).toEqual([keys.get(id)]);
  }
}

async function insertAll(store: KeyStore, records: Iterable<KeyRecord>): Promise<void> {
  for (const record of records) await store.insert(record);
}

function sorted(records: readonly KeyRecord[]): readonly KeyRecord[] {
  return records.toSorted((one, other) => (one.keyId < other.keyId ? -1 : 1));
}

// ── Listings ────────────────────────────────────────────────────────────────────────────────────

function testListings(make: MakeEntityPlace): void {
  test('each lists its own key, and the key that addresses it', async () => {
    const { store } = await make();
    const keys = oneOfEach();
    await insertAll(store, keys.values());
    await expectListed(store, keys);
    const { keyId, digest } = keys.get('a:b') as KeyRecord;
    expect(await store.findById(keyId)).toEqual(keys.get('a:b'));
    expect(await store.findByDigest([digest])).toEqual([keys.get('a:b')]);
  });

  test('one key may address all of them, in pages and at most once', async () => {
    const { store } = await make();
    const records = [1, 2, 3].map(() => unsealed({ accessibleEntities: [OWN, ...IDS] }).record);
    await insertAll(store, records);
    const [first, second, third] = records.toReversed() as [KeyRecord, KeyRecord, KeyRecord];
    for (const id of HOSTILE_IDS) {
      const query = { ...PAGE, entityId: id, addressing: true, limit: 2 };
      expect(await store.list(query), id).toEqual([first, second]);
      const { createdAt, keyId } = second;
      const rest = await store.list({ ...query, after: { createdAt, keyId } });
      expect(rest, id).toEqual([third]);
      expect(await store.list({ ...PAGE, entityId: id }), id).toEqual([]);
    }
  });

  test('none is found under another that begins, ends or looks like it', async () => {
    const { store } = await make();
    await insertAll(store, oneOfEach().values());
    const absent = ['b:a', 'a:', ':b', '::', '~:', '~', '_proto_', 'null:', '7.', '007', '|a', 'A'];
    for (const id of [...absent, 'oRG_2abc', 'toString', '*', '?', '[a]', '%', '%b', 'a_b', '']) {
      for (const addressing of [false, true]) {
        expect(await store.list({ ...PAGE, entityId: id, addressing }), id).toEqual([]);
      }
    }
    // The parts of a prefix and an id, joined elsewhere.
    for (const [prefix, id] of [
      ['acme:a', 'b'],
      ['acme:', 'b'],
      ['acm', 'ea:b'],
    ] as const) {
      for (const addressing of [false, true]) {
        const query = { ...PAGE, prefix, entityId: id, addressing };
        expect(await store.list(query), prefix).toEqual([]);
      }
    }
  });

  test('come back unchanged in the listings of all keys, changes and lineages', async () => {
    const { store } = await make();
    const root = unsealed({ entityId: '07', accessibleEntities: ['07'] }).record;
    const kin = { rootKeyId: root.keyId, rotatedFrom: root.keyId, expiresAt: 9_000 };
    const keys = [...oneOfEach(kin).values()];
    await insertAll(store, [root, ...keys]);
    const all = await store.listAll({ after: null, limit: 100 });
    expect(sorted(all.items)).toEqual(sorted([root, ...keys]));
    const expiring = await store.listExpiring({ before: 9_001, after: null, limit: 100 });
    expect(sorted(expiring.items)).toEqual(sorted(keys));
    const lineage = { rootKeyId: root.keyId, after: null, limit: 100 };
    expect(await store.listLineage(lineage)).toEqual(sorted([root, ...keys]));
    for (const { keyId, accessibleEntities } of keys) {
      const entityId = accessibleEntities[1] ?? '';
      expect(await store.mark(keyId, { kind: 'withdraw', at: 5, entityId })).toBe(true);
    }
    const changed = keys.map(({ keyId }) => ({ keyId, changedAt: 5 }));
    const listed = await store.listChanged({ since: 5, limit: 100 });
    expect(listed.toSorted((one, other) => (one.keyId < other.keyId ? -1 : 1))).toEqual(
      changed.toSorted((one, other) => (one.keyId < other.keyId ? -1 : 1)),
    );
    expect(await store.summarize(5)).toMatchObject([{ scheme: 's1', live: keys.length + 1 }]);
  });
}

// ── Marks and purges ────────────────────────────────────────────────────────────────────────────

function testMarks(make: MakeEntityPlace): void {
  test('each withdraws once, from one key, and no other is taken for it', async () => {
    const { store } = await make();
    const record = unsealed({ entityId: 'c', accessibleEntities: ['c', ...IDS] }).record;
    const rest = unsealed({ entityId: 'c', accessibleEntities: ['c', ...IDS] }).record;
    await insertAll(store, [record, rest]);
    const withdrawn: string[] = [];
    for (const entityId of IDS) {
      const mark = { kind: 'withdraw', at: 5, entityId } as const;
      expect(await store.mark(record.keyId, mark), entityId).toBe(true);
      expect(await store.mark(record.keyId, mark), `${entityId}, again`).toBe(false);
      withdrawn.push(entityId);
      expect((await store.findById(record.keyId))?.withdrawn).toEqual(withdrawn);
    }
    expect(await store.findById(rest.keyId)).toEqual(rest);
    const marked = { ...record, withdrawn: IDS, changedAt: 5 };
    for (const entityId of IDS) {
      const addressed = await store.list({ ...PAGE, entityId, addressing: true });
      expect(addressed, entityId).toEqual([rest, marked]);
    }
  });

  test('are compared as they are in the list that a retirement expects', async () => {
    const { store } = await make();
    const seen = ['org_2abc', '7', 'a:b', '|a|', 'null'];
    const { record } = unsealed({ accessibleEntities: [OWN, ...seen], withdrawn: seen });
    await store.insert(record);
    const retire = { kind: 'retire', at: 5, retireAt: 5, by: null, reason: null } as const;
    const others = [
      ['ORG_2ABC', '7', 'a:b', '|a|', 'null'],
      ['org_2abc', '07', 'a:b', '|a|', 'null'],
      ['org_2abc', '7', 'a', 'b', '|a|', 'null'],
      ['org_2abc', '7', 'a:b', '|a|'],
      ['7', 'org_2abc', 'a:b', '|a|', 'null'],
    ];
    for (const withdrawn of others) {
      expect(await store.mark(record.keyId, { ...retire, withdrawn }), withdrawn.join()).toBe(
        false,
      );
    }
    expect(await store.mark(record.keyId, { ...retire, withdrawn: seen })).toBe(true);
  });

  test('leave no trace when their keys are purged, and the others stay', async () => {
    const { store, purge } = await make();
    if (purge === undefined) return;
    const gone = oneOfEach({ revokedAt: 1_000, createdAt: 1 });
    const kept = oneOfEach({ createdAt: 2 });
    await insertAll(store, [...gone.values(), ...kept.values()]);
    const deleted = await purge(new Date(1_001));
    expect(deleted.toSorted()).toEqual([...gone.values()].map(({ keyId }) => keyId).toSorted());
    await expectListed(store, kept);
    const { items } = await store.listAll({ after: null, limit: 100 });
    expect(sorted(items)).toEqual(sorted([...kept.values()]));
  });
}

// ── A keyring ───────────────────────────────────────────────────────────────────────────────────

function testKeyring(make: MakeEntityPlace): void {
  test('own, reach and leave keys of a service that has such ids', async () => {
    const { store } = await make();
    const { keyring, clock } = setUp({ store, entityIds: 'text' });
    for (const entityId of IDS) {
      const guest = nextTo(entityId);
      const authority = { entityId, entities: [guest], scopes: 'all' } as const;
      const input = { ...PLAIN, accessibleEntities: [guest] };
      const { key, info } = await keyring.issue(input, authority);
      const { keyId } = info;
      const both = [entityId, guest];
      expect(await keyring.verify(key)).toMatchObject({ entityId, accessibleEntities: both });
      const own = await keyring.list({}, { entityId });
      expect(own.keys.filter((each) => each.entityId === entityId)).toEqual(own.keys);
      expect(own.keys.map((each) => each.keyId)).toEqual([keyId]);
      const reaching = await keyring.list({ addressing: true }, { entityId: guest });
      expect(reaching.keys).toMatchObject([{ keyId, entityId, state: 'live' }]);
      await keyring.withdraw(keyId, { entityId: guest });
      expect(await keyring.verify(key)).toMatchObject({ accessibleEntities: [entityId] });
      clock.advance(1);
      const next = await keyring.rotate(keyId, { overlapMs: HOUR }, authority);
      expect(next.info.accessibleEntities).toEqual([entityId]);
      await keyring.revokeLineage(keyId, { entityId });
      const ended = await keyring.list({}, { entityId });
      expect(ended.keys.map(({ state }) => state)).toEqual(['revoked', 'revoked']);
    }
  });
}

/** Registers the tests. Call it in a `describe`. */
export function entitySuite(make: MakeEntityPlace): void {
  testListings(make);
  testMarks(make);
  testKeyring(make);
}

// ── Ids that the core refuses ───────────────────────────────────────────────────────────────────

/**
 * Texts that a comparison may take for {@link LISTED}: in another case, another width, with an
 * accent, or with something at an end. No id of an entity has such a character, apart from letters.
 */
export const LOOK_ALIKES: readonly string[] = [
  'ORG_2ABC',
  'Org_2abc',
  'org_2abc ',
  ' org_2abc',
  'org_2abc\t',
  'org_2abc\n',
  'org_2abc\0',
  'org_2abc\0\0',
  'org_2abc\u00a0',
  'org_2abc\u200b',
  'org_2abc\u0301',
  '\uff4frg_2abc',
  'org\uff3f2abc',
  '\u00f6rg_2abc',
  'org_\u00b2abc',
  'org_2ab\u0441',
];
const LISTED = 'org_2abc';

/**
 * Checks that no listing of an id has a key of a text that looks like it.
 *
 * @param plant Writes a record past the checks of the store.
 */
export async function expectApart(
  store: KeyStore,
  plant: (record: KeyRecord) => unknown,
): Promise<void> {
  const { record } = unsealed({ entityId: LISTED, accessibleEntities: [LISTED] });
  const guest = unsealed({ accessibleEntities: [OWN, LISTED] }).record;
  await insertAll(store, [record, guest]);
  for (const text of LOOK_ALIKES) {
    await plant(unsealed({ entityId: text, accessibleEntities: [text] }).record);
    await plant(unsealed({ accessibleEntities: [OWN, text] }).record);
  }
  expect(await store.list({ ...PAGE, entityId: LISTED })).toEqual([record]);
  expect(await store.list({ ...PAGE, entityId: LISTED, addressing: true })).toEqual([guest]);
}
