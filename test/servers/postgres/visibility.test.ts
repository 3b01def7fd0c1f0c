/**
 * Reasons for a store to see fewer rows than exist. A row that it has not found may then exist:
 * every good key was unknown, a revocation reported that the key does not exist, and `doctor` found
 * no problem.
 */
import { PGlite } from '@electric-sql/pglite';
import { generateKey, type KeyStore, type Mark } from 'keyscope';
import { migrate, postgresStore, purgeEnded } from 'keyscope/stores/postgres';
import { describe, expect, test } from 'vitest';
import { AUTHORITY, issue, OTHER, OWN, setUp, storeError } from '../../support/keyring.ts';
import { pgPool } from '../../support/postgres-clients.ts';
import {
  alone,
  another,
  describePostgres,
  type Place,
  RECORD,
  value,
} from '../../support/postgres-place.ts';

const HIDDEN = 'this role may not see all keys';
const REVOKE: Mark = { kind: 'revoke', at: 5, by: null, reason: null, seal: null };

/** Every method, for existing keys and for a missing one. */
function uses(store: Required<KeyStore>): readonly (readonly [string, () => unknown])[] {
  const { keyId, digest, prefix } = RECORD;
  const page = { prefix, after: null, limit: 9 };
  const by = { by: null, reason: null };
  return [
    ['findByDigest', () => store.findByDigest([digest])],
    ['findByDigest of two', () => store.findByDigest([digest, another(7).digest])],
    ['findByDigest of none', () => store.findByDigest([another(7).digest])],
    ['findById', () => store.findById(keyId)],
    ['list', () => store.list({ ...page, entityId: OWN })],
    ['list, addressing', () => store.list({ ...page, entityId: OTHER, addressing: true })],
    ['listLineage', () => store.listLineage({ rootKeyId: keyId, after: null, limit: 9 })],
    ['summarize', () => store.summarize(1)],
    ['listAll', () => store.listAll({ after: null, limit: 9 })],
    ['listExpiring', () => store.listExpiring({ before: 9, after: null, limit: 9 })],
    ['listChanged', () => store.listChanged({ since: 0, limit: 9 })],
    ['insert', () => store.insert(another(9))],
    ['touch', () => store.touch([{ keyId, lastUsedAt: 5, scopesUsed: {} }])],
    ['suspend', () => store.mark(keyId, { kind: 'suspend', at: 1, ...by })],
    ['resume', () => store.mark(keyId, { kind: 'resume', at: 2 })],
    ['retire', () => store.mark(keyId, { kind: 'retire', at: 3, retireAt: 3, ...by })],
    ['withdraw', () => store.mark(keyId, { kind: 'withdraw', at: 4, entityId: OTHER })],
    ['revoke', () => store.mark(keyId, REVOKE)],
  ];
}

/** A role that may do everything with the tables, but does not own them. */
async function asService<T>(own: Place, act: (role: string) => Promise<T>): Promise<T> {
  const { name } = own.schema;
  const role = `${name}_service`;
  await own.sql(`CREATE ROLE ${role}; GRANT USAGE ON SCHEMA ${name} TO ${role};
    GRANT ALL ON ALL TABLES IN SCHEMA ${name} TO ${role}`);
  try {
    return await act(role);
  } finally {
    await own.sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
}

const POLICIES: readonly (readonly [string, string])[] = [
  ['without a policy', ''],
  ['with a policy that lets every row through', 'CREATE POLICY p ON keyscope_keys USING (true);'],
  ['with a policy for reads alone', 'CREATE POLICY p ON keyscope_keys FOR SELECT USING (true);'],
];

describePostgres('row-level security', () => {
  test.each(POLICIES)('%s is an outage for every method, at once', async (_name, policy) => {
    await alone('pg Pool of 10', async (own) => {
      await migrate(own.client);
      await asService(own, async (role) => {
        const pool = pgPool({ ...own.schema.settings, role });
        const store = postgresStore(pool);
        const { keyring } = setUp({ store, storeTimeoutMs: 10_000 });
        await store.insert(RECORD);
        const { key, info } = await issue(keyring);
        await own.sql(`ALTER TABLE keyscope_keys ENABLE ROW LEVEL SECURITY; ${policy}`);
        for (const [name, use] of uses(store)) {
          await expect(async () => use(), name).rejects.toThrow(HIDDEN);
        }
        await storeError(() => keyring.verify(key));
        await storeError(() => keyring.verify(generateKey({ prefix: 'acme' })));
        await storeError(() => keyring.revoke(info.keyId, AUTHORITY));
        // Nor does another store start, or a purge find nothing to do.
        await expect(async () => postgresStore(pool).findById(OWN)).rejects.toThrow(HIDDEN);
        await expect(purgeEnded(pool, { endedBefore: new Date(1) })).rejects.toThrow(HIDDEN);
        await own.sql(`ALTER ROLE ${role} BYPASSRLS`);
        expect(await keyring.verify(key)).toMatchObject({ keyId: info.keyId });
        await pool.end();
      });
    });
  });

  test('for another entity alone hides that entity from nobody silently', async () => {
    await alone('pg Pool of 10', async (own) => {
      await migrate(own.client);
      await asService(own, async (role) => {
        const pool = pgPool({ ...own.schema.settings, role });
        const store = postgresStore(pool);
        await store.insert(RECORD);
        await own.sql('ALTER TABLE keyscope_addressing ENABLE ROW LEVEL SECURITY');
        const asked = { prefix: RECORD.prefix, after: null, limit: 9, addressing: true };
        const list = async () => store.list({ ...asked, entityId: OTHER });
        await expect(list).rejects.toThrow(HIDDEN);
        await expect(async () => store.insert(another(1))).rejects.toThrow(HIDDEN);
        await pool.end();
      });
    });
  });

  test('does not apply to the owner, until it is forced', async () => {
    await alone('pg Pool of 10', async (own) => {
      const { name, settings } = own.schema;
      await asService(own, async (role) => {
        await own.sql(`GRANT CREATE ON SCHEMA ${name} TO ${role}`);
        const pool = pgPool({ ...settings, role });
        const store = postgresStore(pool);
        await store.insert(RECORD);
        await own.sql('ALTER TABLE keyscope_keys ENABLE ROW LEVEL SECURITY');
        expect(await store.findById(RECORD.keyId)).toEqual(RECORD);
        await own.sql('ALTER TABLE keyscope_keys FORCE ROW LEVEL SECURITY');
        for (const [method, use] of uses(store)) {
          await expect(async () => use(), method).rejects.toThrow(HIDDEN);
        }
        await pool.end();
      });
    });
  });

  test('is reported even if the server rejects the query, with row_security off', async () => {
    await alone('pg Pool of 10', async (own) => {
      await migrate(own.client);
      await asService(own, async (role) => {
        const pool = pgPool({ ...own.schema.settings, role, row_security: 'off' });
        const store = postgresStore(pool);
        await store.insert(RECORD);
        await own.sql('ALTER TABLE keyscope_keys ENABLE ROW LEVEL SECURITY');
        await expect(async () => store.findById(RECORD.keyId)).rejects.toThrow(HIDDEN);
        await pool.end();
      });
    });
  });
});

// This release of PostgreSQL does not evaluate an update's condition if no row is visible.
describe('row-level security in PGlite', () => {
  test('is an outage for every method', async () => {
    const db = await PGlite.create();
    const store = postgresStore(db);
    expect(store.isInProcess).toBe(true);
    await store.insert(RECORD);
    await db.exec(`CREATE ROLE service; GRANT ALL ON ALL TABLES IN SCHEMA public TO service;
      ALTER TABLE keyscope_keys ENABLE ROW LEVEL SECURITY; SET ROLE service`);
    for (const [name, use] of uses(store)) {
      await expect(async () => use(), name).rejects.toThrow(HIDDEN);
    }
    await db.close();
  });
});

describePostgres('a pool of one connection', () => {
  /** Actions of another user of the pool, with an empty copy of the tables. */
  const DETOURS: readonly (readonly [string, string])[] = [
    ['another search path', 'SET search_path = $other'],
    ['no search path', "SET search_path = ''"],
    ['temporary tables', 'CREATE TEMP TABLE keyscope_keys (LIKE $own.keyscope_keys INCLUDING ALL)'],
  ];

  // Statements used the tables of the current search path: another, empty schema.
  test.each(DETOURS)('uses the tables that it started with, after %s', async (_name, detour) => {
    await alone('pg Pool of 10', async (own) => {
      await alone('pg Pool of 10', async (other) => {
        await migrate(other.client);
        const pool = pgPool(own.schema.settings, { max: 1 });
        const store = postgresStore(pool);
        await store.insert(RECORD);
        const names = { own: own.schema.name, other: other.schema.name };
        await pool.query(
          detour.replace(/\$(own|other)/g, (_, name: 'own' | 'other') => names[name]),
        );
        expect(await store.findByDigest([RECORD.digest])).toEqual([RECORD]);
        await store.insert(another(1));
        expect(await store.mark(RECORD.keyId, REVOKE)).toBe(true);
        expect(await value(own.sql, 'SELECT count(*)::int FROM keyscope_keys')).toBe(2);
        expect(await value(other.sql, 'SELECT count(*)::int FROM keyscope_keys')).toBe(0);
        await pool.end();
      });
    });
  });

  test('does not start with temporary tables', async () => {
    await alone('pg Pool of 10', async (own) => {
      await migrate(own.client);
      const pool = pgPool(own.schema.settings, { max: 1 });
      await pool.query('CREATE TEMP TABLE keyscope_schema (LIKE keyscope_schema)');
      await expect(async () => postgresStore(pool).findById(OWN)).rejects.toThrow(HIDDEN);
      await pool.end();
    });
  });

  test('finds tables in a schema whose name needs quotes', async () => {
    await alone('pg Pool of 10', async (own) => {
      const name = `${own.schema.name} "o'$&`;
      const quoted = `"${name.replaceAll('"', '""')}"`;
      await own.sql(`CREATE SCHEMA ${quoted}`);
      const pool = pgPool({ search_path: quoted });
      const store = postgresStore(pool);
      await store.insert(RECORD);
      expect(await store.findById(RECORD.keyId)).toEqual(RECORD);
      await own.sql(`DROP SCHEMA ${quoted} CASCADE`);
      await pool.end();
    });
  });

  // It created empty tables in the next schema, and knew no key.
  test('does not skip tables in a schema that it may not use', async () => {
    await alone('pg Pool of 10', async (own) => {
      await migrate(own.client);
      await asService(own, async (role) => {
        const { name } = own.schema;
        const next = `${name}_next`;
        await own.sql(`CREATE SCHEMA ${next}; GRANT ALL ON SCHEMA ${next} TO ${role}`);
        const pool = pgPool({ search_path: `${name},${next}`, role });
        const store = postgresStore(pool);
        await store.insert(RECORD);
        await own.sql(`REVOKE USAGE ON SCHEMA ${name} FROM ${role}`);
        for (const each of [store, postgresStore(pool)]) {
          await expect(async () => each.findById(RECORD.keyId)).rejects.toThrow(/keyscope/);
        }
        const later = postgresStore(pgPool({ search_path: `${name},${next}`, role }));
        await expect(async () => later.findById(RECORD.keyId)).rejects.toThrow(HIDDEN);
        expect(await own.sql(`SELECT FROM pg_tables WHERE schemaname = '${next}'`)).toEqual([]);
        await own.sql(`DROP SCHEMA ${next} CASCADE`);
        await pool.end();
      });
    });
  });

  test('uses no view in the place of a table, from the start or later', async () => {
    await alone('pg Pool of 10', async (own) => {
      const store = postgresStore(own.client);
      await store.insert(RECORD);
      await own.sql(`ALTER TABLE keyscope_keys RENAME TO kept;
        CREATE VIEW keyscope_keys AS SELECT * FROM kept WHERE false`);
      for (const [method, use] of uses(store)) {
        await expect(async () => use(), method).rejects.toThrow(HIDDEN);
      }
      const late = postgresStore(own.client);
      await expect(async () => late.findById(RECORD.keyId)).rejects.toThrow(HIDDEN);
    });
  });
});

// A crash empties it: every key was then unknown, and every replica lacked the keys.
describePostgres('an UNLOGGED table', () => {
  const SET_LOGGED = 'If a table is UNLOGGED, ALTER TABLE … SET LOGGED';

  test('of keys is an outage for every method, at once, until it is logged', async () => {
    await alone('pg Pool of 10', async ({ client, sql }) => {
      const store = postgresStore(client);
      await store.insert(RECORD);
      await sql('ALTER TABLE keyscope_keys SET UNLOGGED');
      for (const [method, use] of uses(store)) {
        await expect(async () => use(), method).rejects.toThrow(SET_LOGGED);
      }
      await expect(purgeEnded(client, { endedBefore: new Date(1) })).rejects.toThrow(SET_LOGGED);
      await sql('ALTER TABLE keyscope_keys SET LOGGED');
      expect(await store.findById(RECORD.keyId)).toEqual(RECORD);
    });
  });

  test('of the entities that keys address is an outage for their list', async () => {
    await alone('pg Pool of 10', async ({ client, sql }) => {
      const store = postgresStore(client);
      await store.insert(RECORD);
      await sql('ALTER TABLE keyscope_addressing SET UNLOGGED');
      const page = { prefix: RECORD.prefix, after: null, limit: 9, addressing: true };
      const list = async () => store.list({ ...page, entityId: OTHER });
      await expect(list).rejects.toThrow(SET_LOGGED);
    });
  });

  test.each(['schema', 'keys', 'addressing'])('keyscope_%s stops the start', async (name) => {
    await alone('pg Pool of 10', async ({ client, sql }) => {
      await migrate(client);
      await sql(`ALTER TABLE keyscope_${name} SET UNLOGGED`);
      await expect(async () => postgresStore(client).findById(OWN)).rejects.toThrow(SET_LOGGED);
      await expect(migrate(client)).rejects.toThrow(SET_LOGGED);
    });
  });
});
