/** The pairs of keys and of the other entities that they address. */
import type { KeyRecord, ListPosition } from 'keyscope';
import { beforeAll, expect, test } from 'vitest';
import { OTHER, OWN, THIRD } from '../../support/keyring.ts';
import { numbersTo } from '../../support/mysql-clients.ts';
import {
  another,
  DRIVERS,
  describeMysql,
  OWN_KEYS,
  SLOW,
  usePlace,
} from '../../support/mysql-place.ts';

const PAIRS = `SELECT CONVERT(entity_id USING utf8mb4) AS entity_id, key_id, created_at
  FROM keyscope_addressing`;

/** A key that addresses both other entities. */
function addressing(number: number): KeyRecord {
  return { ...another(number), accessibleEntities: [OTHER, OWN, THIRD] };
}

const GUESTS_KEYS = { ...OWN_KEYS, entityId: OTHER, addressing: true } as const;

/** The time that a part of this size may take, in 99 of 100 cases. */
const PAGE_MS = 250;

describeMysql('the pairs of a key', SLOW, () => {
  const place = usePlace('mysql2 pool');
  beforeAll(async () => {
    await place.store.findById(OTHER);
  });

  function pairsOf({ keyId }: KeyRecord): Promise<unknown[]> {
    return place.rows(`${PAIRS} WHERE key_id = '${keyId}' ORDER BY entity_id`);
  }

  function pair(entityId: string, { keyId, createdAt }: KeyRecord): object {
    return { entity_id: entityId, key_id: keyId, created_at: createdAt };
  }

  test('are one for each other entity', async () => {
    const record = addressing(1);
    const alone = another(2);
    for (const each of [record, alone]) await place.store.insert(each);
    expect(await pairsOf(record)).toEqual([pair(OTHER, record), pair(THIRD, record)]);
    expect(await pairsOf(alone)).toEqual([]);
  });

  test('are written once, however often the key names an entity', async () => {
    const record = { ...another(3), accessibleEntities: [OTHER, OTHER, OWN, OTHER] };
    await place.store.insert(record);
    expect(await pairsOf(record)).toEqual([pair(OTHER, record)]);
  });

  test('are written with the record, or neither is', async () => {
    const record = addressing(5);
    await place.rows(`ALTER TABLE keyscope_addressing
      ADD CONSTRAINT no_third CHECK (entity_id <> '${THIRD}' OR key_id <> '${record.keyId}')`);
    const insert = async () => place.store.insert(record);
    await expect(insert).rejects.toThrow('no_third');
    expect(await place.store.findById(record.keyId)).toBe(null);
    expect(await pairsOf(record)).toEqual([]);
    await place.rows('ALTER TABLE keyscope_addressing DROP CONSTRAINT no_third');
    await insert();
    expect(await pairsOf(record)).toHaveLength(2);
  });

  test('of an existing key stay unchanged', async () => {
    const record = addressing(6);
    await place.store.insert(record);
    const before = await place.rows(PAIRS);
    const guest = another(7).keyId;
    for (const given of [{}, { keyId: guest }, { digest: another(7).digest }]) {
      const double = { ...record, accessibleEntities: [OWN, guest], ...given };
      await expect(async () => place.store.insert(double)).rejects.toThrow('exists already');
    }
    expect(await place.rows(PAIRS)).toEqual(before);
  });

  // A dump of data alone has the tables in the order of their names: first the pairs.
  test('may exist before the key, as in a restored dump', async () => {
    const record = addressing(8);
    await place.rows(`INSERT INTO keyscope_addressing
      VALUES ('${THIRD}', '${record.prefix}', ${record.createdAt}, '${record.keyId}')`);
    await place.store.insert(record);
    expect(await pairsOf(record)).toHaveLength(2);
  });

  test('of a key with a thousand entities are written within two seconds', async () => {
    const guests = Array.from({ length: 999 }, (_, index) => another(index).keyId);
    const record = { ...another(9), accessibleEntities: [OWN, ...guests] };
    const start = performance.now();
    await place.store.insert(record);
    expect(performance.now() - start).toBeLessThan(2000);
    expect(await pairsOf(record)).toHaveLength(999);
  });
});

describeMysql('a listing of the keys that address an entity', SLOW, () => {
  const place = usePlace('mysql2 pool');

  test.each([
    'UPDATE keyscope_addressing SET created_at = 4',
    'UPDATE keyscope_keys SET created_at = 4',
    "UPDATE keyscope_keys SET prefix = 'other'",
    "UPDATE keyscope_keys SET prefix = 'acme '",
  ])('shows a key with an edited pair as damaged, and the other keys: %s', async (edit) => {
    const { store, rows } = place;
    const records = [1, 2, 3].map((number) => ({ ...addressing(number), createdAt: number }));
    for (const record of records) await store.insert(record);
    for (const trigger of ['update', 'delete']) {
      await rows(`DROP TRIGGER IF EXISTS keyscope_keys_${trigger}`);
    }
    await rows(`${edit} WHERE key_id = '${another(2).keyId}'`);
    const found: KeyRecord[] = [];
    let after: ListPosition | null = null;
    for (let part = 0; part < 5; part++) {
      const page: readonly KeyRecord[] = await store.list({ ...GUESTS_KEYS, after, limit: 1 });
      found.push(...page);
      after = page[0] ?? after;
    }
    const ids = found.map(({ keyId }) => keyId);
    expect([...ids].sort()).toEqual(records.map(({ keyId }) => keyId));
    const edited = found.find(({ keyId }) => keyId === another(2).keyId);
    expect(edited).toMatchObject({ prefix: 'acme', seal: null });
    await rows('DELETE FROM keyscope_addressing');
    await rows('DELETE FROM keyscope_keys');
  });

  test('omits a pair whose key is gone, and still fills its limit', async () => {
    const { store, rows } = place;
    for (const number of [1, 2, 3]) await store.insert(addressing(number));
    await rows(`INSERT INTO keyscope_addressing VALUES ('${OTHER}', 'acme', 9, 'gone')`);
    const listed = await store.list({ ...GUESTS_KEYS, limit: 3 });
    expect(listed).toHaveLength(3);
    await rows('DROP TRIGGER IF EXISTS keyscope_keys_delete');
    await rows('DELETE FROM keyscope_addressing');
    await rows('DELETE FROM keyscope_keys');
  });
});

describeMysql.each(DRIVERS)('100,000 keys that address one entity, over %s', SLOW, (driver) => {
  const place = usePlace(`${driver} connection`);
  const COUNT = 100_000;
  beforeAll(async () => {
    await place.store.insert(addressing(0));
    // Ten keys for each time.
    await place.rows(`INSERT INTO keyscope_keys
      SELECT format, CONCAT(LPAD(HEX(seq), 8, '0'), SUBSTRING(key_id, 9)), prefix, hint, name,
        CONCAT('s1$', seq), entity_id, accessible_entities, scopes, justification, metadata,
        seq DIV 10, created_by, expires_at, rotated_from, root_key_id, issued_under, trust, seal,
        revoked_at, suspended_at, retire_at, withdrawn, ended_by, end_reason, changed_at,
        last_used_at, scopes_used
      FROM keyscope_keys CROSS JOIN ${numbersTo(COUNT - 1)}`);
    await place.rows(`INSERT IGNORE INTO keyscope_addressing
      SELECT '${OTHER}', prefix, created_at, key_id FROM keyscope_keys`);
  }, SLOW.timeout);

  test(`are listed in parts, 99 of 100 of which take at most ${PAGE_MS} ms`, async () => {
    const times: number[] = [];
    for (let part = 0; part < 200; part++) {
      const createdAt = Math.floor((COUNT / 10) * ((part * 0.618) % 1));
      const after = part === 0 ? null : { createdAt, keyId: another(createdAt * 10 + 5).keyId };
      const start = performance.now();
      const page = await place.store.list({ ...GUESTS_KEYS, after, limit: 100 });
      times.push(performance.now() - start);
      expect(page.length).toBeGreaterThan(0);
    }
    const sorted = times.sort((one, other) => one - other);
    const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? Number.POSITIVE_INFINITY;
    expect(p99).toBeLessThan(PAGE_MS);
  });
});
