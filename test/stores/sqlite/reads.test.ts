import type { KeyRecord, ListQuery } from 'keyscope';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { OTHER, OWN, THIRD, untyped } from '../../support/keyring.ts';
import { RECORD } from '../../support/records.ts';
import { DRIVERS, type Handle, open } from '../../support/sqlite.ts';
import { another, dropSafeguards, stocked } from '../../support/sqlite-databases.ts';
import { countTurns } from '../../support/turns.ts';

const ADDRESSED = { prefix: 'acme', entityId: OTHER, addressing: true } as const;

function addressing(n: number, given: Partial<KeyRecord> = {}): KeyRecord {
  return { ...another(n), createdAt: n, accessibleEntities: [OWN, OTHER], ...given };
}

// One statement over a million rows kept the whole process waiting for 1.5 s.
test('a summary counts every key once, part by part, and lets other work run', async () => {
  const { db, store } = stocked();
  db.exec(`
    INSERT INTO keyscope_keys
    WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 12000)
    SELECT format, printf('%08x-0000-4000-8000-000000000000', n * 40503 % 65536), prefix, hint,
      name, iif(n % 3 = 0, 's1$', 'h1.p1$') || n, entity_id, accessible_entities, scopes,
      justification,
      metadata, created_at, created_by, expires_at, rotated_from, root_key_id, issued_under, trust,
      seal, iif(n % 2 = 0, 5, NULL), suspended_at, retire_at, withdrawn, ended_by, end_reason,
      changed_at, n, scopes_used
    FROM keyscope_keys, number`);
  const { result, turns } = await countTurns(async () => store.summarize(9));
  expect(turns).toBeGreaterThanOrEqual(2);
  expect([...result].sort((a, b) => a.live - b.live)).toEqual([
    { scheme: 's1', live: 2001, lastUsedAt: 11_997 },
    { scheme: 'h1.p1', live: 4000, lastUsedAt: 11_999 },
  ]);
});

/** Three keys of an entity that address another one. Each test edits their rows. */
describe.each(DRIVERS)('a row edited by hand, on %s', (driver) => {
  let db: Handle;
  let store: ReturnType<typeof sqliteStore>;
  beforeEach(() => {
    db = open(driver, ':memory:');
    store = sqliteStore(db);
    for (const n of [1, 2, 3]) {
      store.insert(addressing(n, { rootKeyId: RECORD.keyId, expiresAt: 9 }));
    }
    dropSafeguards(db);
  });
  afterEach(() => db.close());

  function edit(set: string): void {
    db.exec(`UPDATE keyscope_keys SET ${set} WHERE key_id = '${another(2).keyId}'`);
  }

  async function idsListed(query: Partial<ListQuery>): Promise<readonly string[]> {
    const whose = { prefix: 'acme', entityId: OWN, after: null, limit: 5 };
    const rows = await store.list({ ...whose, ...query });
    return rows.map(({ keyId }) => keyId);
  }

  const ALL = [3, 2, 1].map((n) => another(n).keyId);

  // The driver threw over one integer, which hid all keys of the entity on that page.
  test.each([
    'changed_at = 1 << 60',
    'last_used_at = -9223372036854775808',
    'format = 9223372036854775807',
    'suspended_at = 1 << 60, revoked_at = 1 << 60',
    "scopes = 'none', accessible_entities = '', withdrawn = '{'",
    "name = CAST(x'00ff' AS TEXT)",
  ])('appears in every listing and hides no other row: %s', async (set) => {
    edit(set);
    expect(await idsListed({})).toEqual(ALL);
    expect(await idsListed(ADDRESSED)).toEqual(ALL);
    const lineage = await store.listLineage({ rootKeyId: RECORD.keyId, after: null, limit: 9 });
    expect(lineage.map(({ keyId }) => keyId)).toEqual(ALL.toReversed());
    expect((await store.listAll({ after: null, limit: 5 })).items).toHaveLength(3);
    const digests = [1, 2, 3].map((n) => another(n).digest);
    expect(await store.findByDigest(digests)).toHaveLength(3);
    expect(await store.findById(another(2).keyId)).toMatchObject({ keyId: another(2).keyId });
    const live = set.includes('revoked_at') ? 2 : 3;
    expect(await store.summarize(5)).toEqual([{ scheme: 's1', live, lastUsedAt: null }]);
    const expiring = await store.listExpiring({ before: 99, after: null, limit: 5 });
    expect(expiring.items).toHaveLength(live);
    expect(await store.listChanged({ since: -8.64e15, limit: 5 })).toEqual([]);
  });

  test.each(['created_at = 99', "prefix = 'other'", 'created_at = 1 << 60'])(
    'appears among the keys that address an entity where it was filed: %s',
    async (set) => {
      edit(set);
      const second = await store.list({ ...ADDRESSED, after: addressing(3), limit: 1 });
      expect(second).toMatchObject([{ keyId: another(2).keyId, createdAt: 2, prefix: 'acme' }]);
      const third = await store.list({ ...ADDRESSED, after: addressing(2), limit: 5 });
      expect(third).toEqual([addressing(1, { rootKeyId: RECORD.keyId, expiresAt: 9 })]);
    },
  );

  test('appears once, among the keys of the owner that it now names', async () => {
    edit(`entity_id = '${OTHER}'`);
    expect(await idsListed({ ...ADDRESSED, addressing: false })).toEqual([another(2).keyId]);
    expect(await idsListed(ADDRESSED)).toEqual([another(3).keyId, another(1).keyId]);
  });
});

test('a listing for an invalid prefix or entity is empty', async () => {
  const { store } = stocked();
  store.insert(addressing(1));
  for (const odd of [null, undefined, 5, {}, 'acme\0', '', 'ACME', 'acm', OTHER]) {
    const value = untyped<string>(odd);
    for (const isAddressing of [true, false]) {
      const rest = { addressing: isAddressing, after: null, limit: 5 };
      for (const entityId of [OWN, OTHER]) {
        expect(store.list({ ...rest, prefix: value, entityId })).toEqual([]);
      }
      expect(store.list({ ...rest, prefix: 'acme', entityId: value })).toHaveLength(
        value === OTHER && isAddressing ? 1 : 0,
      );
    }
    expect(store.listLineage({ rootKeyId: value, after: null, limit: 5 })).toEqual([]);
  }
});

// A poller never got past more keys marked in one millisecond than its limit.
test('keys marked in one millisecond are listed by id, and none beyond a valid time', () => {
  const { store } = stocked();
  for (const n of [3, 1, 2]) {
    store.insert(another(n));
    store.mark(another(n).keyId, { kind: 'withdraw', at: 5, entityId: THIRD });
  }
  const changed = [1, 2, 3].map((n) => ({ keyId: another(n).keyId, changedAt: 5 }));
  expect(store.listChanged({ since: 5, limit: 9 })).toEqual(changed);
  expect(store.listChanged({ since: 5, limit: 2 })).toEqual(changed.slice(0, 2));
  expect(store.listChanged({ since: 5, after: changed[1], limit: 9 })).toEqual(changed.slice(2));
  expect(store.listChanged({ since: 6, limit: 9 })).toEqual([]);
});
