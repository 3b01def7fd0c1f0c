import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import type { KeyRecord, KeyStore } from 'keyscope';
import { digestKey, generateKey, isAccessError, isStoreError } from 'keyscope';
import type { D1Client } from 'keyscope/stores/d1';
import { d1Store, migrate } from 'keyscope/stores/d1';
import { MIGRATIONS, schemaSql } from 'keyscope/stores/schema';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { complaint } from '../support/complaint.ts';
import {
  AUTHORITY,
  HOUR,
  issue,
  OTHER,
  OWN,
  PEPPER,
  PLAIN,
  START,
  setUp,
  storeError,
} from '../support/keyring.ts';
import { expectLooseCalls } from '../support/loose.ts';
import { RECORD as BASE, numbered } from '../support/records.ts';
import {
  COMPATIBILITY_DATES,
  databases,
  describeWithWorkerd,
  FOLDER,
  spying,
  sqlOf,
  startWorker,
} from '../support/workerd.ts';

const RECORD: KeyRecord = { ...BASE, accessibleEntities: [OWN, OTHER] };
const another = numbered(RECORD);

// Everything that is asked through the proxy takes its time.
const SLOW = { timeout: 60_000 };

// ── In a Worker ───────────────────────────────────────────────────────────────────────────────────────

describeWithWorkerd.each(COMPATIBILITY_DATES)('a Worker of %s', (date) => {
  let worker: Awaited<ReturnType<typeof startWorker>>;
  beforeAll(async () => {
    worker = await startWorker(date);
  }, 60_000);
  afterAll(() => worker.stop());

  test.each(['/walk', '/walk/cached'])(
    'issues, verifies, rotates and revokes: %s',
    SLOW,
    async (route) => {
      const walked = {
        digestBackend: 'noble',
        passed: true,
        old: 'retired',
        revoked: 'revoked',
        json: false,
      };
      expect(await worker.ask(route)).toMatchObject(walked);
    },
  );

  // The contract asks nothing of the runtime that changed between the two.
  const contracts =
    date === COMPATIBILITY_DATES[0] ? [] : ['/contract', '/contract/batch', '/contract/cached'];
  test.each(contracts)('keeps the contract: %s', SLOW, async (route) => {
    const { tests, failed } = (await worker.ask(route)) as { tests: number; failed: string[] };
    expect(failed).toEqual([]);
    expect(tests).toBeGreaterThanOrEqual(39);
  });

  // A query ends with the request that sent it, and so does a promise of its answer.
  test.each([
    ['migration', '/verify/new'],
    ['look-up', '/verify/shared'],
  ])(
    'answers requests that came during the %s of one that has gone',
    SLOW,
    async (_what, route) => {
      const key = String(await worker.ask('/issue'));
      expect(await worker.ask(`${route}?leave`, key)).toBe('left');
      expect(await Promise.all([1, 2, 3].map(() => worker.ask(route, key)))).toEqual([
        'key',
        'key',
        'key',
      ]);
      expect(await worker.ask(route, key)).toBe('key');
    },
  );
});

// ── The binding ───────────────────────────────────────────────────────────────────────────────────────

describeWithWorkerd('a binding', () => {
  const fresh = databases();
  const NO_BINDING = 'd1Store: pass the D1 binding itself, such as env.DB, and no session of it';

  test('is told where it is none, or a session, which may read from a replica', SLOW, async () => {
    const db = await fresh();
    const session = db.withSession?.('first-primary');
    const odd = [
      undefined,
      null,
      'DB',
      {},
      { prepare() {} },
      { batch() {} },
      () => {},
      d1Store,
      session,
    ];
    for (const client of odd) {
      expect(
        complaint(() => d1Store(client as D1Client)),
        inspect(client),
      ).toBe(NO_BINDING);
      await expect(migrate(client as D1Client)).rejects.toThrow(NO_BINDING);
    }
  });

  test('takes no unknown option', SLOW, async () => {
    const db = await fresh();
    expect(complaint(() => d1Store(db, { batches: true } as object))).toContain('batches');
    expect(complaint(() => d1Store(db, { batch: 1 } as object))).toBe(
      'd1Store: batch is true or false',
    );
  });

  test('is asked nothing before the store is used', SLOW, async () => {
    const { client, asked } = spying(await fresh());
    d1Store(client);
    expect(asked).toEqual({ sessions: [], statements: [], batches: [] });
  });

  test('has the types of Cloudflare, under the strictest settings', SLOW, () => {
    const folder = mkdtempSync(join(fileURLToPath(FOLDER), 'node_modules', '.types-'));
    const tsc = (...args: string[]) =>
      spawnSync('npx', ['--no-install', 'tsc', ...args], { encoding: 'utf8' }).stdout;
    // Declarations, as a service has them: Cloudflare's types are no help to compile the source
    // with.
    expect(
      tsc(
        '-p',
        fileURLToPath(new URL('../../tsconfig.build.json', FOLDER)),
        '--outDir',
        folder,
        '--declarationMap',
        'false',
      ),
    ).toBe('');
    const use = `
import { d1Store, migrate } from './stores/d1/index.js';
export const use = async (env: { DB: D1Database }) => [await migrate(env.DB), d1Store(env.DB)];
// @ts-expect-error no client at all
export const no = (env: { DB: KVNamespace }) => d1Store(env.DB);
`;
    const compilerOptions = {
      ...{
        noEmit: true,
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
      },
      ...{
        module: 'esnext',
        moduleResolution: 'bundler',
        target: 'es2023',
        lib: ['es2023'],
        skipLibCheck: false,
      },
      ...{ types: ['@cloudflare/workers-types'] },
    };
    writeFileSync(join(folder, 'use.ts'), use);
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['use.ts'] }),
    );
    const said = tsc('-p', folder);
    rmSync(folder, { recursive: true });
    expect(said).toBe('');
  });

  test(
    'is asked at the primary, in a session a method, and without sessions where it has none',
    SLOW,
    async () => {
      const db = await fresh();
      const { client, asked, forget } = spying(db);
      const store = d1Store(client);
      await store.insert(RECORD);
      forget();
      await store.findByDigest([RECORD.digest]);
      await store.findById(RECORD.keyId);
      await store.list({ entityUuid: OWN, after: null, limit: 5 });
      await store.summarize(0);
      await store.insert(another(1));
      await store.markEnded(RECORD.keyId, { revokedAt: 1 });
      await store.touch([{ keyId: RECORD.keyId, lastUsedAt: 5, scopesUsed: {} }]);
      expect(asked.sessions).toEqual(Array.from({ length: 7 }, () => 'first-primary'));
      const { withSession: _none, ...old } = client;
      forget();
      expect(await d1Store(old).findById(OTHER)).toBe(null);
      expect(asked.sessions).toEqual([]);
    },
  );

  test(
    'is asked one statement a method, with one parameter for a list, and nothing that cannot be there',
    SLOW,
    async () => {
      const { client, asked, forget } = spying(await fresh());
      const store = d1Store(client);
      await store.insert(RECORD);
      forget();
      await store.findByDigest([RECORD.digest]);
      await store.findByDigest(Array.from({ length: 500 }, (_, i) => another(i).digest));
      await store.findById(RECORD.keyId);
      await store.list({ entityUuid: OWN, after: null, limit: 5 });
      await store.list({ entityUuid: OWN, after: RECORD, limit: 5 });
      await store.markEnded(RECORD.keyId, { retireAt: 1 });
      await store.insert(another(1));
      await store.summarize(0);
      expect(asked.statements).toHaveLength(8);
      expect(Math.max(...asked.statements.map(({ values }) => values.length))).toBe(16);
      forget();
      const odd = [
        `${RECORD.keyId}\0`,
        '\ud800',
        5 as unknown as string,
        null as unknown as string,
      ];
      for (const id of odd) {
        expect(await store.findById(id)).toBe(null);
        expect(await store.markEnded(id, { revokedAt: 1 })).toBe(false);
        expect(await store.list({ entityUuid: id, after: null, limit: 5 })).toEqual([]);
        expect(await store.findByDigest([id])).toEqual([]);
        await store.touch([{ keyId: id, lastUsedAt: 9, scopesUsed: {} }]);
      }
      await store.touch([]);
      expect(await store.findByDigest([])).toEqual([]);
      expect(asked.statements.length + asked.batches.length).toBe(0);
    },
  );

  test('touches 1,000 keys a statement, and in one transaction', SLOW, async () => {
    const { client, asked, forget } = spying(await fresh());
    const store = d1Store(client);
    await store.insert(RECORD);
    forget();
    const entries = Array.from({ length: 2_500 }, (_, i) => ({
      ...another(i),
      lastUsedAt: 5,
      scopesUsed: {},
    }));
    await store.touch([
      ...entries,
      { ...RECORD, lastUsedAt: 7, scopesUsed: { 'a:b': 2 } },
      ...entries,
    ]);
    expect(asked.batches).toEqual([3]);
    expect(await store.findById(RECORD.keyId)).toEqual({
      ...RECORD,
      lastUsedAt: 7,
      scopesUsed: { 'a:b': 2 },
    });
  });

  test(
    'counts the keys of now where it is given no time, and lists from the beginning',
    SLOW,
    async () => {
      const store = d1Store(await fresh());
      await store.insert({ ...another(1), expiresAt: Date.now() - 1 });
      await store.insert({ ...another(2), expiresAt: Date.now() + HOUR });
      const summarize = store.summarize as () => unknown;
      expect(await summarize()).toEqual([{ scheme: 's1', live: 1, lastUsedAt: null }]);
      await expectLooseCalls(store, OWN);
    },
  );

  test('takes the use of 40 keys with 256 scopes each, of the greatest length', SLOW, async () => {
    const db = await fresh();
    const store = d1Store(db);
    const names = Array.from(
      { length: 256 },
      (_, i) => `${'r'.repeat(64)}:${'a'.repeat(61)}${String(i).padStart(3, '0')}`,
    );
    const scopesUsed = Object.fromEntries(names.map((name) => [name, START]));
    const keys = Array.from({ length: 40 }, (_, i) => another(i));
    for (const key of keys) await store.insert(key);
    await store.touch(keys.map(({ keyId }) => ({ keyId, lastUsedAt: START, scopesUsed })));
    const rows = await store.findByDigest(keys.map(({ digest }) => digest));
    expect(rows.filter((row) => Object.keys(row.scopesUsed).length === 256)).toHaveLength(40);
  });

  test(
    'is asked one query for look-ups at once where that is wanted, and one each otherwise',
    SLOW,
    async () => {
      const { client, asked, forget } = spying(await fresh());
      for (const [options, count] of [
        [{ batch: true }, 1],
        [{}, 20],
        [{ batch: false }, 20],
      ] as const) {
        const store = d1Store(client, options);
        await store.findById(OWN);
        await store.findByDigest(['x']);
        forget();
        await Promise.all(
          Array.from({ length: 20 }, (_, i) => store.findByDigest([another(i).digest])),
        );
        expect(asked.statements).toHaveLength(count);
      }
    },
  );

  test('is written nothing by a verification', SLOW, async () => {
    const { client, asked, forget } = spying(await fresh());
    const { keyring } = setUp({ store: d1Store(client) });
    const { key } = await issue(keyring);
    await keyring.verify(key);
    forget();
    for (let i = 0; i < 3; i++) await keyring.verify(key);
    expect(asked.statements.map(({ sql }) => sql.trim().split(' ')[0])).toEqual([
      'SELECT',
      'SELECT',
      'SELECT',
    ]);
    expect(asked.batches).toEqual([]);
  });

  test('reads no table from end to end but for a summary, and sorts no listing', SLOW, async () => {
    const db = await fresh();
    const { client, asked, forget } = spying(db);
    const store = d1Store(client);
    await store.insert(RECORD);
    forget();
    await store.findByDigest(['a']);
    await store.findByDigest(['a', 'b']);
    await store.findById(OWN);
    await store.list({ entityUuid: OWN, after: null, limit: 10 });
    await store.markEnded(OWN, { retireAt: 4 });
    await store.markEnded(OWN, { revokedAt: 4 });
    await store.touch([{ keyId: OWN, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } }]);
    await store.summarize(5);
    const plans: string[] = [];
    for (const { sql } of asked.statements) {
      const plan = await sqlOf(db)(`EXPLAIN QUERY PLAN ${sql.replaceAll('?', "'[]'")}`);
      plans.push(plan.map(({ detail }) => String(detail)).join('; '));
    }
    expect(plans).toHaveLength(8);
    expect(
      plans.filter((plan) => /SCAN keyscope_keys|TEMP B-TREE FOR ORDER BY/.test(plan)),
    ).toEqual([plans[7]]);
  });

  test(
    'that fails is a StoreError, and is used again once it answers; so is the migration',
    SLOW,
    async () => {
      const { client, state } = spying(await fresh());
      const { keyring } = setUp({ store: d1Store(client) });
      state.fails = new Error('D1_ERROR: D1 DB is overloaded. Requests queued for too long.');
      await storeError(() => issue(keyring));
      state.fails = undefined;
      const { key, info } = await issue(keyring);
      state.fails = new Error('D1_ERROR: Network connection lost.');
      await storeError(() => keyring.verify(key));
      await storeError(() => keyring.revoke(info.keyId, AUTHORITY));
      state.fails = undefined;
      expect((await keyring.verify(key)).keyId).toBe(info.keyId);
    },
  );

  test('says of a write that is refused neither digest nor seal', SLOW, async () => {
    const store = d1Store(await fresh());
    await store.insert(RECORD);
    const refusals: readonly (readonly [KeyRecord, RegExp])[] = [
      [RECORD, /exists already/],
      [{ ...another(1), digest: RECORD.digest }, /exists already/],
      [{ ...another(2), createdAt: 1.5 }, /cannot store REAL value/],
      [{ ...another(3), name: null as unknown as string }, /NOT NULL constraint failed/],
      [{ ...another(4), name: undefined as unknown as string }, /not supported/],
      [{ ...another(5), scopes: {} as unknown as string[] }, /CHECK constraint failed/],
    ];
    for (const [record, message] of refusals) {
      const error: unknown = await Promise.resolve(store.insert(record)).then(
        undefined,
        (reason) => reason,
      );
      const said = inspect(error, { showHidden: true, depth: Number.POSITIVE_INFINITY });
      expect(said).toMatch(message);
      for (const secret of [record.digest, String(record.seal)]) {
        expect(said).not.toContain(secret.replace('s1$', '').slice(0, 16));
      }
    }
    expect(await store.list({ entityUuid: OWN, after: null, limit: 9 })).toEqual([RECORD]);
  });
});

// ── The table ─────────────────────────────────────────────────────────────────────────────────────────

const FIXED = [
  'key_id',
  'name',
  'digest',
  'seal',
  'entity_uuid',
  'accessible_entities',
  'scopes',
].concat(['justification', 'metadata', 'created_at', 'expires_at', 'rotated_from']);

describeWithWorkerd('the table', () => {
  const fresh = databases();
  let db: D1Client;
  let sql: ReturnType<typeof sqlOf>;
  beforeAll(async () => {
    db = await fresh();
    sql = sqlOf(db);
    await d1Store(db).insert(RECORD);
  });

  test(
    'refuses updates of what never changes, of marks once written, and deletes',
    SLOW,
    async () => {
      const columns = await sql("SELECT name FROM pragma_table_info('keyscope_keys')");
      const changing = ['revoked_at', 'retire_at', 'last_used_at', 'scopes_used'];
      expect(
        columns.map(({ name }) => name).filter((name) => !changing.includes(String(name))),
      ).toEqual(FIXED);
      for (const column of FIXED) {
        const other = column.endsWith('_at') ? '77' : "'[]'";
        for (const set of [
          `${column} = ${other}`,
          `${column} = ${column}`,
          `last_used_at = 5, ${column} = ${other}`,
        ]) {
          await expect(sql(`UPDATE keyscope_keys SET ${set}`), set).rejects.toThrow(
            'of a key ever change',
          );
        }
      }
      await expect(sql('DELETE FROM keyscope_keys')).rejects.toThrow(
        'keys are revoked and never deleted',
      );
      await expect(
        sql('INSERT OR REPLACE INTO keyscope_keys SELECT * FROM keyscope_keys'),
      ).rejects.toThrow('exists already');
      // REPLACE deletes the row that has the rowid, and asks no trigger of that one.
      const others = FIXED.filter((name) => name !== 'key_id' && name !== 'digest').concat(
        'scopes_used',
      );
      const copy = (
        or: string,
        rowid: string,
      ) => `INSERT ${or} INTO keyscope_keys (rowid, key_id, digest, ${others})
      SELECT ${rowid}, 'another', 's1$another', ${others} FROM keyscope_keys`;
      await expect(sql(copy('OR REPLACE', 'rowid'))).rejects.toThrow('exists already');
      for (const or of ['OR REPLACE', 'OR IGNORE', ''])
        await expect(sql(`UPDATE ${or} keyscope_keys SET rowid = rowid + 1`)).rejects.toThrow(
          'of a key ever change',
        );
      expect(await sql('SELECT key_id FROM keyscope_keys')).toEqual([{ key_id: RECORD.keyId }]);
      expect(await d1Store(db).findById(RECORD.keyId)).toEqual(RECORD);
      await sql('UPDATE keyscope_keys SET revoked_at = 2, retire_at = 3');
      for (const mark of ['revoked_at', 'retire_at']) {
        for (const to of ['NULL', '9']) {
          await expect(sql(`UPDATE keyscope_keys SET ${mark} = ${to}`)).rejects.toThrow(
            'are written once',
          );
        }
      }
    },
  );

  test('leaves columns and triggers of the service alone', SLOW, async () => {
    const own = await fresh();
    const type = sqlOf(own);
    const store = d1Store(own);
    await store.insert(RECORD);
    await type("ALTER TABLE keyscope_keys ADD COLUMN team TEXT DEFAULT 'blue'");
    await type('ALTER TABLE keyscope_keys ADD COLUMN id INTEGER');
    await type('CREATE TABLE log (what TEXT)');
    await type(
      "CREATE TRIGGER seen AFTER UPDATE ON keyscope_keys BEGIN INSERT INTO log VALUES ('a'), ('b'); END",
    );
    const again = d1Store(own);
    expect(await again.findById(RECORD.keyId)).toEqual(RECORD);
    // What a trigger of theirs writes is not counted as ours.
    expect(await again.markEnded(RECORD.keyId, { revokedAt: 5 })).toBe(true);
    expect(await store.markEnded(RECORD.keyId, { revokedAt: 5 })).toBe(false);
    await again.touch([{ keyId: RECORD.keyId, lastUsedAt: 7, scopesUsed: { 'a:b': 7 } }]);
    await again.insert(another(1));
    expect(await type('SELECT DISTINCT team, id FROM keyscope_keys')).toEqual([
      { team: 'blue', id: null },
    ]);
    const used = { ...RECORD, revokedAt: 5, lastUsedAt: 7, scopesUsed: { 'a:b': 7 } };
    expect(await store.findById(RECORD.keyId)).toEqual(used);
  });
});

// ── Migration ─────────────────────────────────────────────────────────────────────────────────────────

describeWithWorkerd('migrate', () => {
  const fresh = databases();
  const CATALOG =
    "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY name";

  test('is repeatable, and only reads where the schema is current', SLOW, async () => {
    const db = await fresh();
    await d1Store(db).insert(RECORD);
    const schema = await sqlOf(db)(CATALOG);
    const { client, asked } = spying(db);
    await migrate(client);
    expect([asked.statements.length, asked.batches]).toEqual([1, []]);
    expect(await sqlOf(db)(CATALOG)).toEqual(schema);
    expect(await d1Store(db).findById(RECORD.keyId)).toEqual(RECORD);
  });

  test('from 8 places at once makes one schema, and no store fails meanwhile', SLOW, async () => {
    const db = await fresh();
    await Promise.all([
      ...Array.from({ length: 8 }, () => migrate(db)),
      ...Array.from({ length: 8 }, (_, i) => d1Store(db).insert(another(i))),
    ]);
    expect(await sqlOf(db)('SELECT id, version FROM keyscope_schema')).toEqual([
      { id: 1, version: 1 },
    ]);
    expect(await d1Store(db).list({ entityUuid: OWN, after: null, limit: 99 })).toHaveLength(8);
  });

  test('finds what was made by hand', SLOW, async () => {
    const [byHand, migrated] = [await fresh(), await fresh()];
    // As a tool splits it: a statement ends with a line that ends in `;` and begins no other of a
    // trigger.
    const statements = schemaSql('sqlite').split(/;\n(?=\n|$)/);
    for (const statement of statements) if (statement.trim() !== '') await sqlOf(byHand)(statement);
    await migrate(migrated);
    const [one, other] = [await sqlOf(byHand)(CATALOG), await sqlOf(migrated)(CATALOG)];
    expect(one.map(({ name }) => name)).toEqual(other.map(({ name }) => name));
    const { client, asked } = spying(byHand);
    await d1Store(client).insert(RECORD);
    expect([asked.statements.length, asked.batches]).toEqual([2, []]);
  });

  test('refuses a schema that a newer release has made, and leaves it', SLOW, async () => {
    const db = await fresh();
    await migrate(db);
    await sqlOf(db)('UPDATE keyscope_schema SET version = 2');
    const store = d1Store(db);
    const newer = 'keyscope: the database has schema 2 and this release knows 1; upgrade it';
    for (const act of [() => migrate(db), () => store.findById(OWN), () => store.insert(RECORD)]) {
      await expect(async () => act()).rejects.toThrow(newer);
    }
    expect(await sqlOf(db)('SELECT version FROM keyscope_schema')).toEqual([{ version: 2 }]);
  });

  test('does all of it or nothing, and is tried again at the next use', SLOW, async () => {
    const db = await fresh();
    const sql = sqlOf(db);
    // Somebody has the name of the index, which comes after the table.
    await sql('CREATE TABLE mine (a)');
    await sql('CREATE INDEX keyscope_keys_listing ON mine (a)');
    const store = d1Store(db);
    for (let i = 0; i < 2; i++) {
      await expect(async () => store.findById(OWN)).rejects.toThrow(/keyscope_keys_listing/);
    }
    expect((await sql(CATALOG)).map(({ name }) => name)).toEqual(['keyscope_keys_listing', 'mine']);
    await sql('DROP TABLE mine');
    expect(await store.findById(OWN)).toBe(null);
  });

  test('says so where a version table has no version', SLOW, async () => {
    const db = await fresh();
    await sqlOf(db)(MIGRATIONS.sqlite.flat()[0] ?? '');
    await expect(migrate(db)).rejects.toThrow('table keyscope_schema already exists');
  });

  test('says what went wrong where the version cannot be read', SLOW, async () => {
    const db = await fresh();
    await sqlOf(db)('CREATE TABLE keyscope_schema (other)');
    await expect(migrate(db)).rejects.toThrow('no such column: version');
  });

  describeNextRelease(fresh);
});

/** With one more version: each statement of it can run only once. */
function describeNextRelease(fresh: () => Promise<D1Client>): void {
  const versions = MIGRATIONS.sqlite as (readonly string[])[];
  const next = [
    'ALTER TABLE keyscope_keys ADD COLUMN next_one TEXT',
    'CREATE TABLE keyscope_next (a)',
  ];
  const columns = "SELECT name FROM pragma_table_info('keyscope_keys') WHERE name = 'next_one'";

  async function withNext(act: (db: D1Client) => Promise<void>): Promise<void> {
    const db = await fresh();
    await migrate(db);
    versions.push(next);
    try {
      await act(db);
    } finally {
      versions.pop();
    }
  }

  test('brings the next version, from 8 places at once', SLOW, async () => {
    await withNext(async (db) => {
      await Promise.all(Array.from({ length: 8 }, () => migrate(db)));
      expect(await sqlOf(db)('SELECT version FROM keyscope_schema')).toEqual([{ version: 2 }]);
      expect(await sqlOf(db)(columns)).toHaveLength(1);
    });
  });

  test(
    'runs nothing twice: a version that another place has brought meanwhile stops the batch',
    SLOW,
    async () => {
      await withNext(async (db) => {
        const harmless = ['INSERT INTO keyscope_next VALUES (1)'];
        await sqlOf(db)('CREATE TABLE keyscope_next (a)');
        versions.splice(1, 1, harmless);
        let raced = false;
        // Somebody migrates between the look at the version and the batch.
        const slow: D1Client = {
          prepare: (sql) => db.prepare(sql),
          async batch(statements) {
            if (!raced) {
              raced = true;
              await migrate(db);
            }
            return db.batch(statements);
          },
        };
        await migrate(slow);
        expect(raced).toBe(true);
        expect(await sqlOf(db)('SELECT a FROM keyscope_next')).toEqual([{ a: 1 }]);
        expect(await sqlOf(db)('SELECT version FROM keyscope_schema')).toEqual([{ version: 2 }]);
      });
    },
  );
}

// ── What is stored ────────────────────────────────────────────────────────────────────────────────────

describeWithWorkerd('what is stored', () => {
  const fresh = databases();

  test('holds no key', SLOW, async () => {
    const db = await fresh();
    const { keyring } = setUp({ store: d1Store(db) });
    const { key, info } = await issue(keyring);
    const next = await keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
    const all = JSON.stringify(await sqlOf(db)('SELECT * FROM keyscope_keys'));
    expect(all).toContain(info.keyId);
    for (const secret of [key, next.key])
      expect(all).not.toContain(secret.slice('acme_'.length, -6));
  });
});

// ── What somebody edited by hand ──────────────────────────────────────────────────────────────────────

const attackers = generateKey({ prefix: 'acme' });
const BOTH = JSON.stringify([OWN, OTHER]);
const HUGE = '9223372036854775807';

/** Column → SQL values that widen a key, or that are merely wrong. */
const EDITS: Readonly<Record<string, readonly string[]>> = {
  key_id: [`'${OTHER}'`, "''", "'ABC'", 'NULL'],
  name: ["'other'", "''", "'CI'", "name || ' '", 'NULL', '5'],
  digest: [
    `'${digestKey(attackers, PEPPER)}'`,
    `'${digestKey(attackers)}'`,
    "''",
    'upper(digest)',
  ].concat(["digest || ' '", 'substr(digest, 1, length(digest) - 1)', 'NULL']),
  seal: ['NULL', "''", 'upper(seal)', 'substr(seal, 2)', "x'00'"],
  entity_uuid: [`'${OTHER}'`, "''", 'upper(entity_uuid)', 'NULL'],
  accessible_entities: [`'${BOTH}'`, "'[]'", `'["${OTHER}"]'`, "'[5]'", "'[[]]'", "'none'", 'NULL'],
  scopes: [
    `'["threats:read","threats:write"]'`,
    `'["threats:*"]'`,
    `'["*:*"]'`,
    "'[]'",
    `'["threats:read","threats:read"]'`,
  ].concat(["'[null]'", `'["Threats:read"]'`, `'["nothing:known"]'`, "'{'", "'null'", 'NULL']),
  justification: ["'because'", "''"],
  metadata: [
    `'{"team":"blue"}'`,
    `'{"a":5}'`,
    `'{"__proto__":"x"}'`,
    "'[]'",
    "'text'",
    "x'7b7d'",
    'NULL',
  ],
  created_at: ['created_at + 1', '0', '-1', HUGE, "'soon'", 'NULL'],
  expires_at: ['NULL', 'expires_at + 1', '0', HUGE, 'expires_at + 0.5'],
  rotated_from: [`'${OTHER}'`, "''"],
};

async function outcome(act: () => Promise<unknown>): Promise<string> {
  try {
    await act();
    return 'passed';
  } catch (error) {
    if (isStoreError(error)) return 'StoreError';
    return isAccessError(error) ? `${error.code} ${error.reason}` : String(error);
  }
}

const TAMPERED = 'invalid_token record_tampered';
const REFUSED = [TAMPERED, 'invalid_token unknown_key', 'StoreError'];
/** As a copy that lost everything but its columns: no trigger, no type, no constraint. */
const BARE = MIGRATIONS.sqlite
  .flat()
  .filter((sql) => sql.includes('CREATE TABLE'))
  .map((sql) =>
    sql.replaceAll(
      / (?:TEXT|INTEGER)\b| NOT NULL| CHECK \(.*\)(?=,?\n)| PRIMARY KEY| UNIQUE|STRICT/g,
      '',
    ),
  );

describeWithWorkerd('a row edited by hand', () => {
  const fresh = databases();
  let store: KeyStore;
  let sql: ReturnType<typeof sqlOf>;
  beforeAll(async () => {
    const db = await fresh();
    sql = sqlOf(db);
    for (const statement of [...BARE, 'INSERT INTO keyscope_schema (id, version) VALUES (1, 1)'])
      await sql(statement);
    store = d1Store(db);
  });

  /** A key of its own, whose row alone is edited. */
  async function victim() {
    const ring = setUp({ store });
    const { key, info } = await ring.keyring.issue(
      { ...PLAIN, expiresAt: new Date(START + HOUR) },
      AUTHORITY,
    );
    expect(await outcome(() => ring.keyring.verify(key))).toBe('passed');
    const edit = (column: string, to: string) => sql(`UPDATE keyscope_keys SET ${column} = ${to}`);
    const remove = () => sql('DELETE FROM keyscope_keys');
    return { ...ring, key, keyId: info.keyId, edit, remove };
  }

  test('every column that never changes is tried', () => {
    expect(Object.keys(EDITS)).toEqual(FIXED);
  });

  test.each(FIXED)('%s: the key never passes', SLOW, async (column) => {
    for (const to of EDITS[column] ?? []) {
      const { keyring, key, keyId, edit, remove } = await victim();
      await edit(column, to);
      const why = `${column} = ${to}`;
      const said = await outcome(() => keyring.verify(key));
      // What is found by its digest is reported as tampering, not as a broken store.
      expect(column === 'digest' ? REFUSED : [TAMPERED], why).toContain(said);
      // Nor the key that whoever edited the digest knows.
      expect(REFUSED, why).toContain(await outcome(() => keyring.verify(attackers)));
      for (const entityUuid of [OWN, OTHER]) {
        const rotated = await outcome(() =>
          keyring.rotate(keyId, { overlapMs: 0 }, { entityUuid }),
        );
        expect([...REFUSED, 'not_found no_such_key'], `${why}, rotated`).toContain(rotated);
        const shown = await outcome(() => keyring.list({}, { entityUuid }));
        expect(['passed', 'StoreError'], `${why}, listed`).toContain(shown);
      }
      await remove();
    }
  });

  test('refuses this key and no other, and keeps no other from its usage', SLOW, async () => {
    for (const json of ['none', '', '[', '5', 'null', '[]']) {
      const { keyring, key, keyId, remove } = await victim();
      const other = await issue(keyring);
      await sql(`UPDATE keyscope_keys SET scopes_used = '${json}' WHERE key_id = '${keyId}'`);
      expect(await outcome(() => keyring.verify(key)), json).toBe(TAMPERED);
      expect(await outcome(() => keyring.verify(other.key)), json).toBe('passed');
      const use = { lastUsedAt: START + 1, scopesUsed: { 'threats:read': 5 } };
      await store.touch([keyId, other.info.keyId].map((id) => ({ keyId: id, ...use })));
      expect(await store.findById(other.info.keyId)).toMatchObject(use);
      expect(await outcome(() => keyring.get(keyId, AUTHORITY)), json).toBe('StoreError');
      await remove();
    }
  });

  test(
    'marks and times that are none, or beyond what a number holds, never let a key pass',
    SLOW,
    async () => {
      for (const column of ['revoked_at', 'retire_at', 'last_used_at']) {
        for (const to of [HUGE, "'soon'", "''", '1.5']) {
          const { keyring, key, edit, remove } = await victim();
          await edit(column, to);
          expect(await outcome(() => keyring.verify(key)), `${column} = ${to}`).toBe(TAMPERED);
          await remove();
        }
      }
    },
  );
});
