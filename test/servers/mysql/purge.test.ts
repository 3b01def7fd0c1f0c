import type { KeyRecord } from 'keyscope';
import type { MysqlPool } from 'keyscope/stores/mysql';
import { mysqlStore, type PurgeOptions, purgeEnded } from 'keyscope/stores/mysql';
import { expect, onTestFinished, test } from 'vitest';
import { OTHER, OWN } from '../../support/keyring.ts';
import { openConsole } from '../../support/mysql-clients.ts';
import {
  another,
  describeMysql,
  KINDS,
  lending,
  openClient,
  POOLS,
  SLOW,
  until,
  usageOf,
  withClient,
} from '../../support/mysql-place.ts';

/** A time long ago. The keys of these tests end before and after it. */
const THEN = 1_000_000;
const ENDED_BEFORE = new Date(THEN);

/** The keys of a place, and the existing pairs, by id. */
async function idsIn(console: { rows(sql: string): Promise<unknown[]> }): Promise<string[]> {
  const rows = await console.rows('SELECT key_id FROM keyscope_keys ORDER BY key_id');
  return rows.map((row) => (row as { key_id: string }).key_id);
}

function idsOf(records: readonly KeyRecord[]): string[] {
  return records.map(({ keyId }) => keyId).sort();
}

/** Ended keys, each of which addresses another entity. */
function endedKeys(count: number): KeyRecord[] {
  const accessibleEntities = [OWN, OTHER];
  return Array.from({ length: count }, (_, index) => ({
    ...another(index),
    accessibleEntities,
    revokedAt: 5,
  }));
}

describeMysql.each(KINDS)('purgeEnded over a %s', SLOW, (kind) => {
  test('deletes keys that ended before the time, with their pairs, and nothing else', async () => {
    await withClient(kind, {}, async ({ client }, { console }) => {
      const store = mysqlStore(client);
      const accessibleEntities = [OWN, OTHER];
      const ends: readonly Partial<KeyRecord>[] = [
        { revokedAt: THEN - 1 },
        { retireAt: THEN - 1 },
        { expiresAt: THEN - 1 },
        { revokedAt: THEN - 1, expiresAt: THEN + 1 },
        { expiresAt: THEN - 1, revokedAt: THEN + 1, suspendedAt: 1 },
      ];
      const lives: readonly Partial<KeyRecord>[] = [
        {},
        { revokedAt: THEN },
        { retireAt: THEN },
        { expiresAt: THEN },
        { suspendedAt: 1 },
      ];
      const all = [...ends, ...lives].map((given, index) => ({
        ...another(index),
        accessibleEntities,
        ...given,
      }));
      for (const record of all) await store.insert(record);
      const ended = idsOf(all.slice(0, ends.length));
      const kept = idsOf(all.slice(ends.length));
      const deleted = await purgeEnded(client, { endedBefore: ENDED_BEFORE });
      expect([...deleted].sort()).toEqual(ended);
      expect(await idsIn(console)).toEqual(kept);
      const pairs = await console.rows('SELECT key_id FROM keyscope_addressing ORDER BY key_id');
      expect(pairs).toEqual(kept.map((key_id) => ({ key_id })));
      expect(await console.value('SELECT purge_before FROM keyscope_schema')).toBe(null);
      // Once more, when there is nothing left to do.
      expect(await purgeEnded(client, { endedBefore: ENDED_BEFORE })).toEqual([]);
      expect(await idsIn(console)).toEqual(kept);
    });
  });

  test('deletes more keys than fit one transaction', async () => {
    await withClient(kind, {}, async ({ client }, { console }) => {
      const store = mysqlStore(client);
      const records = endedKeys(250);
      await Promise.all(records.map(async (record) => store.insert(record)));
      await store.insert(another(1000));
      const deleted = await purgeEnded(client, { endedBefore: ENDED_BEFORE });
      expect([...deleted].sort()).toEqual(idsOf(records));
      expect(await idsIn(console)).toEqual([another(1000).keyId]);
    });
  });
});

describeMysql('purgeEnded', SLOW, () => {
  test.each([
    undefined,
    null,
    {},
    { endedBefore: undefined },
    { endedBefore: 5 },
    { endedBefore: '2020-01-01' },
    { endedBefore: new Date(Number.NaN) },
    { endedBefore: new Date(Date.now() + 60_000) },
    { endedBefore: ENDED_BEFORE, before: 5 },
  ])('rejects %j before it asks the server anything', async (options) => {
    await withClient('mysql2 pool', {}, async ({ client }, { console }) => {
      const purge = async () => purgeEnded(client, options as PurgeOptions);
      await expect(purge).rejects.toThrow(TypeError);
      await expect(purge).rejects.toThrow('purgeEnded');
      expect(await console.rows('SHOW TABLES')).toEqual([]);
    });
  });

  test('rejects values that are not a client', async () => {
    const purge = async () => purgeEnded({} as MysqlPool, { endedBefore: ENDED_BEFORE });
    await expect(purge).rejects.toThrow(TypeError);
  });

  test('migrates first, and rejects a schema that this release does not know', async () => {
    await withClient('mysql2 pool', {}, async ({ client }, { console }) => {
      const options = { endedBefore: ENDED_BEFORE };
      expect(await purgeEnded(client, options)).toEqual([]);
      await console.rows('UPDATE keyscope_schema SET version = 2, min_reader = 2');
      await expect(async () => purgeEnded(client, options)).rejects.toThrow('Upgrade keyscope');
    });
  });

  test('deletes even if the session rejects statements that use no index', async () => {
    const initSql = 'SET sql_safe_updates = 1';
    await withClient('mariadb pool', { initSql }, async ({ client }) => {
      const store = mysqlStore(client);
      for (const record of endedKeys(3)) await store.insert(record);
      const deleted = await purgeEnded(client, { endedBefore: ENDED_BEFORE });
      expect(deleted).toEqual(idsOf(endedKeys(3)));
    });
  });

  test('waits for no key that another transaction has locked, and leaves it', async () => {
    await withClient('mysql2 pool', {}, async ({ client }, { settings }) => {
      const store = mysqlStore(client);
      const records = endedKeys(3);
      for (const record of records) await store.insert(record);
      const rival = await openConsole(settings);
      onTestFinished(() => rival.end());
      await rival.rows('START TRANSACTION');
      const locked = another(1).keyId;
      await rival.rows(`UPDATE keyscope_keys SET last_used_at = 9 WHERE key_id = '${locked}'`);
      const others = [another(0).keyId, another(2).keyId];
      expect(await purgeEnded(client, { endedBefore: ENDED_BEFORE })).toEqual(others);
      await rival.rows('COMMIT');
      expect(await purgeEnded(client, { endedBefore: ENDED_BEFORE })).toEqual([locked]);
    });
  });
});

describeMysql.each(POOLS)('purgeEnded over a %s', SLOW, (kind) => {
  test('deletes each key once, however many purges run while stores are in use', async () => {
    await withClient(kind, {}, async ({ client }, { settings, console }) => {
      const store = mysqlStore(client);
      const records = endedKeys(300);
      await Promise.all(records.map(async (record) => store.insert(record)));
      const live = Array.from({ length: 20 }, (_, index) => another(5000 + index));
      const others = await Promise.all(KINDS.map((each) => openClient(each, settings)));
      const use = live.map(async (record, index) => {
        await store.insert(record);
        await store.touch([record, ...records].map((each) => usageOf(each, index)));
        await store.mark(record.keyId, { kind: 'suspend', at: 5, by: null, reason: null });
      });
      const purges = others.map((other) => purgeEnded(other.client, { endedBefore: ENDED_BEFORE }));
      const deleted = (await Promise.all(purges)).flat();
      await Promise.all(use);
      // Usage that was being written had locked some.
      deleted.push(...(await purgeEnded(client, { endedBefore: ENDED_BEFORE })));
      expect(deleted.sort()).toEqual(idsOf(records));
      expect(await idsIn(console)).toEqual(idsOf(live));
      expect(await console.value('SELECT COUNT(*) FROM keyscope_addressing')).toBe(0);
      for (const other of others) await other.end();
    });
  });

  test.each([
    'SET purge_before = 1',
    'FOR UPDATE',
    'DELETE FROM keyscope_keys',
    'DELETE FROM keyscope_addressing',
    'COMMIT',
  ])('that is killed before %s leaves all keys of its batch, and none deletable', async (cut) => {
    await withClient(kind, {}, async ({ client }, { console }) => {
      const store = mysqlStore(client);
      const records = endedKeys(150);
      await Promise.all(records.map(async (record) => store.insert(record)));
      let batches = 0;
      const pool = lending(client as MysqlPool, (loan) => {
        const isCut = (sql: string) => {
          if (sql.includes('SET purge_before = 1')) batches += 1;
          return batches > 1 && sql.includes(cut);
        };
        // Simulates the end of the process: the connection closes, and nothing more is sent.
        const gone = () => {
          loan.destroy();
          return Promise.reject(new Error('gone'));
        };
        return {
          ...loan,
          execute: (statement, values) =>
            isCut(statement.sql) ? gone() : loan.execute(statement, values),
          query: (statement) =>
            isCut(statement.sql) || statement.sql.startsWith('ROLLBACK')
              ? gone()
              : loan.query(statement),
        };
      });
      const purge = async () => purgeEnded(pool, { endedBefore: ENDED_BEFORE });
      await expect(purge).rejects.toThrow('gone');
      const left = 'SELECT COUNT(*) FROM keyscope_keys';
      await until(async () => (await console.value(left)) === 50, 'the second batch is there');
      expect(await console.value('SELECT COUNT(*) FROM keyscope_addressing')).toBe(50);
      expect(await console.value('SELECT purge_before FROM keyscope_schema')).toBe(null);
      const deleting = console.rows('DELETE FROM keyscope_keys');
      await expect(deleting).rejects.toThrow('never deleted');
      expect(await purgeEnded(client, { endedBefore: ENDED_BEFORE })).toHaveLength(50);
    });
  });

  test('retries a batch that the server rolls back', async () => {
    await withClient(kind, {}, async ({ client }, { console }) => {
      const store = mysqlStore(client);
      for (const record of endedKeys(3)) await store.insert(record);
      let tries = 0;
      const pool = lending(client as MysqlPool, (loan) => ({
        ...loan,
        query(statement) {
          if (!statement.sql.startsWith('DELETE FROM keyscope_keys')) return loan.query(statement);
          tries += 1;
          if (tries > 2) return loan.query(statement);
          return Promise.reject(Object.assign(new Error('taken back'), { errno: 1213 }));
        },
      }));
      const deleted = await purgeEnded(pool, { endedBefore: ENDED_BEFORE });
      expect(deleted).toEqual(idsOf(endedKeys(3)));
      expect(tries).toBe(3);
      expect(await idsIn(console)).toEqual([]);
    });
  });
});
