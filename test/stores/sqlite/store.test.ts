import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import type { SchemeSummary } from 'keyscope';
import type { SqliteHandle } from 'keyscope/stores/sqlite';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { storeContract } from 'keyscope/testing';
import { describe, expect, test } from 'vitest';
import { OWN } from '../../support/keyring.ts';
import { expectNoKeyIn } from '../../support/leaks.ts';
import { expectLooseCalls } from '../../support/loose.ts';
import { RECORD } from '../../support/records.ts';
import { DRIVERS, open } from '../../support/sqlite.ts';
import { another, freshFiles, stocked } from '../../support/sqlite-databases.ts';

const { fresh, folder } = freshFiles();

describe.each(DRIVERS)('%s', (driver) => {
  // One file for all of them, with a handle each: the contract asks for no empty store.
  describe.each([
    ['memory', ':memory:'],
    ['a file', fresh()],
  ])('in %s', (_where, path) => {
    storeContract(test, () => {
      const db = open(driver, path);
      return { ...sqliteStore(db), close: () => db.close() };
    });
  });
});

const hasBun = spawnSync('bun', ['--version']).status === 0;

test.skipIf(!hasBun)(
  'the contract on bun:sqlite (skipped where there is no bun on PATH)',
  { timeout: 120_000 },
  () => {
    const script = fileURLToPath(new URL('../../support/bun-contract.ts', import.meta.url));
    const { stdout, stderr } = spawnSync('bun', [script, folder], { encoding: 'utf8' });
    expect(stderr).toBe('');
    const run = JSON.parse(stdout) as { readonly tests: number; readonly failed: unknown };
    expect(run.failed).toEqual([]);
    expect(run.tests).toBeGreaterThanOrEqual(78);
  },
);

/** A handle that notes the SQL it is asked to prepare and to execute. */
function spying(db: DatabaseSync) {
  const prepared: string[] = [];
  const executed: string[] = [];
  const handle: SqliteHandle = {
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
    const { handle, prepared, executed } = spying(new DatabaseSync(':memory:'));
    const store = sqliteStore(handle);
    prepared.length = 0;
    executed.length = 0;
    store.insert(RECORD);
    for (const digests of [[], ['a'], ['a', 'b', RECORD.digest]]) store.findByDigest(digests);
    store.findById(RECORD.keyId);
    store.list({ entityUuid: OWN, after: null, limit: 10 });
    store.list({ entityUuid: OWN, after: RECORD, limit: 10 });
    store.markEnded(RECORD.keyId, { retireAt: 4 });
    store.markEnded(RECORD.keyId, { revokedAt: 5 });
    store.touch([{ keyId: RECORD.keyId, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } }]);
    store.summarize(5);
    // `touch` alone asks for it, and sets it: whoever waits for a lock is served by nobody
    // meanwhile.
    expect(prepared).toEqual(['PRAGMA busy_timeout']);
    const pragmas = ['PRAGMA busy_timeout = 0', 'PRAGMA busy_timeout = 5000'];
    expect(new Set(executed)).toEqual(new Set(['BEGIN IMMEDIATE', 'COMMIT', ...pragmas]));
  });

  test('reads the table from end to end for nothing but a summary', () => {
    const db = new DatabaseSync(':memory:');
    const { handle, prepared } = spying(db);
    sqliteStore(handle);
    const statements = prepared.filter((sql) => /keyscope_keys/.test(sql));
    expect(statements).toHaveLength(9);
    const scans = statements.filter((sql) => {
      const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
      const steps = plan.map(({ detail }) => String(detail));
      return steps.some((step) => /SCAN keyscope_keys|TEMP B-TREE FOR ORDER BY/.test(step));
    });
    expect(scans).toEqual([expect.stringContaining('count(*) AS live')]);
  });

  test('answers with fresh plain objects', async () => {
    const { store } = stocked();
    const record = await store.findById(RECORD.keyId);
    const again = await store.findById(RECORD.keyId);
    const [summary] = (await store.summarize(5)) as [SchemeSummary];
    expect(record).not.toBe(again);
    for (const row of [record, again, summary]) {
      expect(Object.getPrototypeOf(row)).toBe(Object.prototype);
    }
  });

  test('summarizes as of now without a time, and lists from the beginning', async () => {
    const { store } = stocked();
    store.insert({ ...another(1), expiresAt: Date.now() - 1 });
    store.insert({ ...another(2), expiresAt: Date.now() + 3_600_000 });
    const summarize = store.summarize as () => unknown;
    expect(summarize()).toEqual([{ scheme: 's1', live: 2, lastUsedAt: null }]);
    await expectLooseCalls(store, OWN);
  });

  test('writes no key into the file', async () => {
    const path = fresh();
    const db = new DatabaseSync(path);
    await expectNoKeyIn(sqliteStore(db), () => {
      // And those that SQLite has beside it.
      const names = readdirSync(folder).filter((name) => name.startsWith(basename(path)));
      return names.map((name) => readFileSync(join(folder, name), 'latin1')).join();
    });
    db.close();
  });
});
