import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import type { Mark } from 'keyscope';
import type { SqliteHandle } from 'keyscope/stores/sqlite';
import { purgeEnded, sqliteStore } from 'keyscope/stores/sqlite';
import { storeContract } from 'keyscope/testing';
import { describe, expect, test } from 'vitest';
import { OTHER, OWN } from '../../support/keyring.ts';
import { expectNoKeyIn } from '../../support/leaks.ts';
import { expectLooseCalls } from '../../support/loose.ts';
import { RECORD } from '../../support/records.ts';
import { open } from '../../support/sqlite.ts';
import { another, freshFiles, revokeAt, stocked } from '../../support/sqlite-databases.ts';

const { fresh, folder } = freshFiles();

const WHOSE = { prefix: 'acme', entityId: OWN, after: null, limit: 10 };

// One file for all tests, with a handle each: the contract does not need an empty store. The other
// driver works in memory: drivers differ in how they read and write, not where. No test here loses
// power, so no write waits for the disk.
describe.each([
  ['better-sqlite3', 'a file', fresh()],
  ['node:sqlite', 'memory', ':memory:'],
] as const)('%s in %s', (driver, _where, path) => {
  storeContract(test, () => {
    const db = open(driver, path);
    const store = sqliteStore(db);
    // After the store, which turns it on.
    db.exec('PRAGMA synchronous = OFF');
    return { ...store, close: () => db.close() };
  });
});

const hasBun = spawnSync('bun', ['--version']).status === 0;

test.skipIf(!hasBun)(
  'the contract on bun:sqlite (skipped if bun is not on PATH)',
  { timeout: 120_000 },
  () => {
    const script = fileURLToPath(new URL('../../support/bun-contract.ts', import.meta.url));
    const { stdout, stderr } = spawnSync('bun', [script, folder], { encoding: 'utf8' });
    expect(stderr).toBe('');
    const run = JSON.parse(stdout) as { readonly tests: number; readonly failed: unknown };
    expect(run.failed).toEqual([]);
    expect(run.tests).toBeGreaterThanOrEqual(120);
  },
);

/** A handle that records the SQL that it prepares and executes. */
function spying(db: DatabaseSync) {
  const prepared: string[] = [];
  const executed: string[] = [];
  const handle: SqliteHandle = {
    get isTransaction() {
      return db.isTransaction;
    },
    prepare(sql) {
      prepared.push(sql);
      return db.prepare(sql);
    },
    exec(sql) {
      executed.push(sql);
      return db.exec(sql);
    },
  };
  return { handle, prepared, executed };
}

describe('the store', () => {
  test('prepares each statement once', () => {
    const why = { by: null, reason: null };
    const marks: readonly Mark[] = [
      { kind: 'suspend', at: 1, ...why },
      { kind: 'resume', at: 2 },
      { kind: 'withdraw', at: 3, entityId: OTHER },
      { kind: 'retire', at: 4, retireAt: 5, ...why },
      revokeAt(5),
    ];
    const { handle, prepared, executed } = spying(new DatabaseSync(':memory:'));
    const store = sqliteStore(handle);
    prepared.length = 0;
    executed.length = 0;
    store.insert(RECORD);
    for (const digests of [[], ['a'], ['a', 'b', RECORD.digest]]) store.findByDigest(digests);
    store.findById(RECORD.keyId);
    store.list(WHOSE);
    store.list({ ...WHOSE, after: RECORD });
    store.list({ ...WHOSE, addressing: true });
    store.listLineage({ rootKeyId: RECORD.keyId, after: null, limit: 10 });
    for (const mark of marks) store.mark(RECORD.keyId, mark);
    store.touch([{ keyId: RECORD.keyId, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } }]);
    store.summarize(5);
    store.listExpiring({ before: 9, after: null, limit: 10 });
    store.listAll({ after: null, limit: 10 });
    store.listChanged({ since: 0, limit: 10 });
    // Writes read it and set it: while the handle waits for a lock, no request is served.
    expect(new Set(prepared)).toEqual(new Set(['PRAGMA busy_timeout']));
    const pragmas = ['PRAGMA busy_timeout = 0', 'PRAGMA busy_timeout = 5000'];
    expect(new Set(executed)).toEqual(new Set(['BEGIN IMMEDIATE', 'COMMIT', ...pragmas]));
  });

  test('scans no whole table, and sorts none', async () => {
    const db = new DatabaseSync(':memory:');
    const { handle, prepared } = spying(db);
    sqliteStore(handle);
    await purgeEnded(handle, { endedBefore: new Date(0) });
    const statements = [...new Set(prepared)].filter((sql) => /keyscope_keys/.test(sql));
    expect(statements).toHaveLength(19);
    const plans = statements.map((sql) => {
      const steps = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
      return steps.map(({ detail }) => String(detail)).join('; ');
    });
    const isSlow = /SCAN (?:keyscope_keys|ended|place)|TEMP B-TREE FOR .*ORDER BY/;
    expect(plans.filter((plan) => isSlow.test(plan))).toEqual([]);
    // A part of a lineage is found in two indexes, without reading rows.
    for (const index of ['lineage (root_key_id', 'issued (issued_under']) {
      const search = `USING COVERING INDEX keyscope_keys_${index}=? AND key_id>?)`;
      expect(plans.filter((plan) => plan.includes(search))).toHaveLength(1);
    }
    // A later part of the table is found by its primary key, without reading earlier rows.
    expect(
      plans.filter((plan) => /sqlite_autoindex_keyscope_keys_1 \(key_id>\?\)/.test(plan)),
    ).toHaveLength(2);
    // A purge starts where the last batch ended, and stops at the time.
    expect(plans.join()).toContain('keyscope_keys_ended (<expr>>? AND <expr><?)');
  });

  test('answers with new plain objects', async () => {
    const { store } = stocked();
    store.mark(RECORD.keyId, { kind: 'withdraw', at: 1, entityId: OTHER });
    const record = await store.findById(RECORD.keyId);
    const again = await store.findById(RECORD.keyId);
    const [summary] = await store.summarize(5);
    const [changed] = await store.listChanged({ since: 0, limit: 1 });
    expect(record).not.toBe(again);
    for (const row of [record, again, summary, changed]) {
      expect(Object.getPrototypeOf(row)).toBe(Object.prototype);
    }
  });

  test('summarizes as of now without a time, and lists from the beginning', async () => {
    const { store } = stocked();
    store.insert({ ...another(1), expiresAt: Date.now() - 1 });
    store.insert({ ...another(2), expiresAt: Date.now() + 3_600_000 });
    const summarize = store.summarize as () => unknown;
    expect(await summarize()).toEqual([{ scheme: 's1', live: 2, lastUsedAt: null }]);
    await expectLooseCalls(store, OWN);
  });

  test('writes no key into the file', async () => {
    const path = fresh();
    const db = new DatabaseSync(path);
    await expectNoKeyIn(sqliteStore(db), () => {
      // Nor into the files that SQLite keeps next to it.
      const names = readdirSync(folder).filter((name) => name.startsWith(basename(path)));
      return names.map((name) => readFileSync(join(folder, name), 'latin1')).join();
    });
    db.close();
  });
});
