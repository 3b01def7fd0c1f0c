import type { KeyRecord } from 'keyscope';
import type { MysqlPool } from 'keyscope/stores/mysql';
import { mysqlStore } from 'keyscope/stores/mysql';
import { beforeAll, expect, test } from 'vitest';
import { rowsOf } from '../../../src/stores/mysql/client.js';
import { openConsole } from '../../support/mysql-clients.ts';
import {
  another,
  describeMysql,
  lending,
  POOLS,
  SLOW,
  usageOf,
  usePlace,
  withClient,
} from '../../support/mysql-place.ts';

const RECORDS = Array.from({ length: 40 }, (_, i) => another(i));
const BATCHES = Array.from({ length: 60 }, (_, i) => i);

/** The records in one order or the other. */
function inOrder(isAscending: boolean): KeyRecord[] {
  const sorted = [...RECORDS].sort((one, other) => (one.keyId < other.keyId ? -1 : 1));
  return isAscending ? sorted : sorted.reverse();
}

describeMysql.each(POOLS)('touch, over a %s', SLOW, (kind) => {
  const place = usePlace(kind);
  beforeAll(() => Promise.all(RECORDS.map((record) => place.store.insert(record))));

  test('lets batches in any order wait for each other, without a deadlock', async () => {
    let deadlocks = 0;
    const counting = lending(place.opened.client as MysqlPool, (loan) => ({
      ...loan,
      query: (statement) =>
        loan.query(statement).catch((error: { errno: number }) => {
          if (error.errno === 1213) deadlocks += 1;
          throw error;
        }),
    }));
    const store = mysqlStore(counting);
    const touches = BATCHES.map(async (i) => {
      const used = { 'a:b': 100 + i, [`only:s${i}`]: i };
      await store.touch(inOrder(i % 2 === 0).map((record) => usageOf(record, 100 + i, used)));
    });
    await Promise.all(touches);
    expect(deadlocks).toBe(0);
    const own = Object.fromEntries(BATCHES.map((i) => [`only:s${i}`, i]));
    for (const record of RECORDS) {
      const row = await place.store.findById(record.keyId);
      expect(row).toEqual({ ...record, lastUsedAt: 159, scopesUsed: { 'a:b': 159, ...own } });
    }
  });

  test('locks the rows of its batch and no others', async () => {
    await withClient(kind, {}, async ({ client }, { settings, console }) => {
      const store = mysqlStore(client);
      // Only a few rows, for which the server would prefer a full scan.
      for (let i = 0; i < 3; i++) await store.insert(another(i));
      await console.rows('ANALYZE TABLE keyscope_keys');
      const rival = await openConsole(settings);
      await rival.rows('START TRANSACTION');
      await rival.rows(
        `UPDATE keyscope_keys SET last_used_at = 9 WHERE key_id = '${another(0).keyId}'`,
      );
      // Otherwise it waits for the lock for as long as the server allows.
      await store.touch([usageOf(another(1), 5), usageOf(another(2), 5), usageOf(another(3), 5)]);
      await rival.rows('ROLLBACK');
      await rival.end();
    });
  });

  // One transaction left open kept the usage of all keys of a batch waiting for as long as the
  // server allows a statement to wait, each time on another connection.
  test('gives up on a key whose row another transaction holds, and writes all others', async () => {
    await withClient(kind, { connectionLimit: 1 }, async ({ client }, { settings, console }) => {
      const store = mysqlStore(client);
      const records = Array.from({ length: 450 }, (_, i) => another(i));
      await Promise.all(records.map((record) => store.insert(record)));
      const waits = 'SELECT @@innodb_lock_wait_timeout AS wait';
      const before = await client.query({ sql: waits });
      const rival = await openConsole(settings);
      await rival.rows('START TRANSACTION');
      await rival.rows(`UPDATE keyscope_keys SET hint = hint, last_used_at = 9
        WHERE key_id = '${another(7).keyId}'`);
      const start = performance.now();
      const touched = store.touch(records.map((record) => usageOf(record, 5, { 'a:b': 5 })));
      await expect(touched).rejects.toThrow(/^keyscope: .*(time|lock)/);
      // Half a second on an idle machine.
      expect(performance.now() - start).toBeLessThan(8_000);
      const written = 'SELECT COUNT(*) FROM keyscope_keys WHERE last_used_at = 5';
      expect(await console.value(written)).toBe(449);
      // The only connection is unchanged.
      expect(rowsOf(await client.query({ sql: waits }))).toEqual(rowsOf(before));
      await rival.rows('ROLLBACK');
      await rival.end();
      await store.touch(records.map((record) => usageOf(record, 6)));
      const later = 'SELECT COUNT(*) FROM keyscope_keys WHERE last_used_at = 6';
      expect(await console.value(later)).toBe(450);
    });
  });

  /** Touches all of them, only some of which exist, and reads those. */
  async function expectTouched(
    all: readonly KeyRecord[],
    known: readonly (KeyRecord | undefined)[],
    scopesUsed: Readonly<Record<string, number>>,
  ): Promise<void> {
    const records = known.filter((record) => record !== undefined);
    for (const record of records) await place.store.insert(record);
    await place.store.touch(all.map((record) => usageOf(record, 5, scopesUsed)));
    for (const record of records) {
      const row = await place.store.findById(record.keyId);
      expect(row).toEqual({ ...record, lastUsedAt: 5, scopesUsed });
    }
  }

  test('accepts more keys than fit one statement', async () => {
    const many = Array.from({ length: 2100 }, (_, i) => another(100_000 + i));
    await expectTouched(many, [many[0], many[999], many[1000], many[2099]], { 'a:b': 6 });
  });

  // It exceeded the packet limit, here 16 MiB, and the same batch was sent again and again.
  test('accepts keys with more scopes than fit one statement', async () => {
    const resource = 'r'.repeat(64);
    const action = 'a'.repeat(61);
    const names = Array.from({ length: 256 }, (_, i) => `${resource}:${action}${100 + i}`);
    const scopesUsed = Object.fromEntries(names.map((name) => [name, 1_700_000_000_000]));
    const many = Array.from({ length: 480 }, (_, i) => another(300_000 + i));
    await expectTouched(many, [many[0], many[479]], scopesUsed);
  });
});
