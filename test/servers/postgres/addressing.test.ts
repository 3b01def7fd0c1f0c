import { postgresStore } from 'keyscope/stores/postgres';
import { beforeAll, describe, expect, test } from 'vitest';
import { OTHER, OWN, THIRD } from '../../support/keyring.ts';
import { pgClient, sharedPglite } from '../../support/postgres-clients.ts';
import {
  alone,
  another,
  describeKind,
  describePostgres,
  RECORD,
  using,
  value,
} from '../../support/postgres-place.ts';

const PAIRS = `
  SELECT entity_id, prefix, created_at::int, key_id FROM keyscope_addressing
  ORDER BY created_at, key_id, entity_id`;

// PGlite takes seconds to start.
beforeAll(sharedPglite, 60_000);

describe.each(['PGlite', 'pg Pool of 10'])('with %s', (kind) => {
  describeKind(kind)('the pairs', () => {
    test('are one for each other entity that a key addresses', async () => {
      await alone(kind, async ({ client, sql }) => {
        const store = postgresStore(client);
        const { keyId, prefix } = RECORD;
        await store.insert({ ...RECORD, accessibleEntities: [OTHER, OWN, THIRD] });
        await store.insert({ ...another(1), accessibleEntities: [OWN], createdAt: 2 });
        await store.insert({ ...another(2), accessibleEntities: [], createdAt: 3 });
        // Input that the core would reject: the key is filed under whatever it says.
        const odd = { ...another(3), accessibleEntities: [OTHER, OTHER], createdAt: 4 };
        await store.insert(odd);
        const pairOf = (entity: string) => ({ entity_id: entity, prefix });
        expect(await sql(PAIRS)).toEqual([
          { ...pairOf(OTHER), created_at: 1, key_id: keyId },
          { ...pairOf(THIRD), created_at: 1, key_id: keyId },
          { ...pairOf(OTHER), created_at: 4, key_id: odd.keyId },
        ]);
      });
    });

    // A restored dump has the tables in any order.
    test('may exist before their key', async () => {
      await alone(kind, async ({ client, sql }) => {
        const store = postgresStore(client);
        await store.findById(OWN);
        await sql(`
          INSERT INTO keyscope_addressing (entity_id, prefix, created_at, key_id)
          VALUES ('${OTHER}', '${RECORD.prefix}', ${RECORD.createdAt}, '${RECORD.keyId}')`);
        await store.insert(RECORD);
        const query = { prefix: 'acme', entityId: OTHER, addressing: true } as const;
        expect(await store.list({ ...query, after: null, limit: 9 })).toEqual([RECORD]);
      });
    });

    test('are written together with the key, or neither is', async () => {
      await alone(kind, async ({ client, sql }) => {
        const store = postgresStore(client);
        const record = { ...RECORD, accessibleEntities: [OWN, OTHER, THIRD] };
        await store.findById(OWN);
        await sql(`ALTER TABLE keyscope_addressing
          ADD CONSTRAINT not_third CHECK (entity_id <> '${THIRD}')`);
        const refused = 'violates check constraint "not_third"';
        await expect(async () => store.insert(record)).rejects.toThrow(refused);
        expect(await store.findById(RECORD.keyId)).toBe(null);
        expect(await sql(PAIRS)).toEqual([]);
        // The reverse, too: an existing key adds no pair.
        await store.insert(RECORD);
        const before = await sql(PAIRS);
        const second = { ...another(1), digest: RECORD.digest };
        await expect(async () => store.insert(second)).rejects.toThrow('duplicate key');
        expect(await sql(PAIRS)).toEqual(before);
      });
    });
  });
});

describePostgres('a key with 1,000 entities', () => {
  const many = Array.from({ length: 999 }, (_, i) => another(i).keyId);

  test('is listed for each of them', async () => {
    await alone('pg Pool of 10', async ({ client, sql }) => {
      const store = postgresStore(client);
      const record = { ...RECORD, accessibleEntities: [OWN, ...many] };
      await store.insert(record);
      expect(await value(sql, 'SELECT count(*)::int FROM keyscope_addressing')).toBe(999);
      for (const entityId of [many[0], many[500], many[998]]) {
        const query = { prefix: 'acme', entityId: String(entityId), addressing: true } as const;
        expect(await store.list({ ...query, after: null, limit: 2 })).toEqual([record]);
      }
    });
  });

  test('does not exist if its connection ends between the key and its pairs', async () => {
    await alone('pg Pool of 10', async ({ client, sql, schema }) => {
      const store = postgresStore(client);
      await store.findById(OWN);
      await sql(`
        CREATE FUNCTION end_connection() RETURNS trigger LANGUAGE plpgsql AS
          'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END';
        CREATE TRIGGER end_connection BEFORE INSERT ON keyscope_addressing
          FOR EACH ROW WHEN (NEW.entity_id = '${many[500]}') EXECUTE FUNCTION end_connection()`);
      const doomed = await pgClient(schema.settings);
      doomed.on('error', () => {});
      const record = { ...RECORD, accessibleEntities: [OWN, ...many] };
      await expect(async () => postgresStore(doomed).insert(record)).rejects.toThrow(
        'terminating connection',
      );
      expect(await store.findById(RECORD.keyId)).toBe(null);
      expect(await value(sql, 'SELECT count(*)::int FROM keyscope_addressing')).toBe(0);
      await doomed.end().catch(() => {});
    });
  });
});

describe('the keys of others that address an entity', () => {
  const used = using('PGlite');
  const ask = async (entityId: string, more: object = {}) => {
    const query = { prefix: 'acme', entityId, addressing: true, after: null, limit: 10 };
    const rows = await used.store.list({ ...query, ...more });
    return rows.map(({ keyId }) => keyId);
  };

  test('are listed like others: newest first, from a position on, by prefix', async () => {
    const times = [5, 7, 7, 1];
    for (const [index, createdAt] of times.entries()) {
      await used.store.insert({ ...another(index), createdAt });
    }
    await used.store.insert({ ...another(4), prefix: 'other' });
    await used.store.insert({ ...another(5), entityId: OTHER });
    const [first, second, third, fourth, fifth, sixth] = Array.from(
      { length: 6 },
      (_, index) => another(index).keyId,
    );
    expect(await ask(OTHER)).toEqual([third, second, first, fourth]);
    expect(await ask(OTHER, { limit: 2 })).toEqual([third, second]);
    const after = { createdAt: 7, keyId: third };
    expect(await ask(OTHER, { after })).toEqual([second, first, fourth]);
    expect(await ask(OTHER, { prefix: 'other' })).toEqual([fifth]);
    // Its own keys are not among them; the others' is the one that the test created.
    expect(await ask(OTHER, { addressing: false })).toEqual([sixth]);
    expect(await ask(OWN)).toEqual([sixth]);
    expect(await ask(THIRD)).toEqual([]);
    // Withdrawn ones stay.
    const withdrawal = { kind: 'withdraw', at: 9, entityId: OTHER } as const;
    expect(await used.store.mark(String(first), withdrawal)).toBe(true);
    expect(await ask(OTHER)).toEqual([third, second, first, fourth]);
  });
});
