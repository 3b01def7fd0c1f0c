import type { KeyRecord } from 'keyscope';
import type { MysqlPool } from 'keyscope/stores/mysql';
import { mysqlStore } from 'keyscope/stores/mysql';
import { beforeAll, expect, test } from 'vitest';
import { numbersTo, openConsole } from '../../support/mysql-clients.ts';
import {
  another,
  DRIVERS,
  describeMysql,
  lending,
  OWN_KEYS,
  POOLS,
  revokeAt,
  SLOW,
  until,
  usageOf,
  usePlace,
  withClient,
} from '../../support/mysql-place.ts';
import { RECORD } from '../../support/records.ts';

describeMysql.each(DRIVERS)('a write over a connection of %s', (driver) => {
  const kind = `${driver} connection`;

  test.each(['COMMIT', 'ROLLBACK'])(
    'throws in the middle of a transaction, and leaves it to end in %s',
    async (end) => {
      await withClient(kind, {}, async ({ client, query }, { console }) => {
        const store = mysqlStore(client);
        await store.insert(RECORD);
        await console.rows('CREATE TABLE theirs (a INT) ENGINE = InnoDB');
        await query('START TRANSACTION');
        await query('INSERT INTO theirs VALUES (1)');
        const writes = [
          async () => store.insert(another(1)),
          async () => store.mark(RECORD.keyId, revokeAt(5)),
          async () => store.touch([usageOf(RECORD, 5)]),
        ];
        for (const write of writes) {
          const why = 'keyscope: the connection is in the middle of a transaction';
          await expect(write).rejects.toThrow(why);
        }
        // Nothing of that transaction was committed meanwhile.
        expect(await console.rows('SELECT * FROM theirs')).toEqual([]);
        await query(end);
        const left = end === 'COMMIT' ? 1 : 0;
        expect(await console.rows('SELECT * FROM theirs')).toHaveLength(left);
        expect(await store.list(OWN_KEYS)).toEqual([RECORD]);
      });
    },
  );

  test.each([0, 1])(
    'leaves no transaction behind if it fails, with autocommit %i',
    async (autocommit) => {
      await withClient(kind, {}, async ({ client, query }, { console }) => {
        const store = mysqlStore(client);
        await store.insert(RECORD);
        await query(`SET autocommit = ${autocommit}`);
        const settled = await Promise.allSettled([
          store.insert(RECORD),
          store.insert(another(1)),
          store.insert(RECORD),
          store.insert(another(2)),
        ]);
        const statuses = settled.map(({ status }) => status);
        expect(statuses).toEqual(['rejected', 'fulfilled', 'rejected', 'fulfilled']);
        // Throws in the middle of a transaction.
        await query('SET TRANSACTION READ WRITE');
        expect(await console.value('SELECT COUNT(*) FROM keyscope_keys')).toBe(3);
      });
    },
  );
});

describeMysql.each(POOLS)('a write over a %s', SLOW, (kind) => {
  const place = usePlace(kind);
  // Whichever test runs first: the store asks the server nothing before its first use.
  beforeAll(async () => {
    await place.store.findById(RECORD.keyId);
  });

  // 1020 is MariaDB 11's error if the row has changed since; the server here may be older.
  test.each([1213, 1020])(
    'is retried when the server rolls it back with error %i',
    async (errno) => {
      let inserts = 0;
      const failing = lending(place.opened.client as MysqlPool, (loan) => ({
        ...loan,
        query(statement) {
          if (!statement.sql.startsWith('INSERT')) return loan.query(statement);
          inserts += 1;
          if (inserts > 2) return loan.query(statement);
          return Promise.reject(Object.assign(new Error('taken back'), { errno }));
        },
      }));
      const record = another(210_000 + errno);
      await mysqlStore(failing).insert(record);
      expect(inserts).toBe(3);
      expect(await place.store.findById(record.keyId)).toEqual(record);
    },
  );

  test('is retried when it falls victim to a deadlock', async () => {
    const first = another(200_001);
    const second = another(200_002);
    const heavy = another(200_003);
    for (const record of [first, second, heavy]) await place.store.insert(record);
    const rival = await openConsole(place.database.settings);
    const touch = ({ keyId }: KeyRecord) =>
      rival.rows(`UPDATE keyscope_keys SET last_used_at = 9 WHERE key_id = '${keyId}'`);
    await rival.rows('START TRANSACTION');
    // The server ends the transaction that changed fewer rows, which is not this one.
    await rival.rows('CREATE TEMPORARY TABLE weight (a INT) ENGINE = InnoDB');
    await rival.rows(`INSERT INTO weight SELECT seq FROM ${numbersTo(1_000)}`);
    await touch(heavy);
    await touch(second);
    const waiting = place.store.touch([usageOf(first, 5), usageOf(second, 5)]);
    await untilTouchWaits();
    // Now each waits for the other.
    await touch(first);
    await rival.rows('COMMIT');
    await waiting;
    expect(await place.store.findById(first.keyId)).toEqual({ ...first, lastUsedAt: 9 });
    expect(await place.store.findById(second.keyId)).toEqual({ ...second, lastUsedAt: 9 });
    await rival.end();
  });

  /** Not through innodb_trx, which shows the same while anybody keeps asking. */
  async function untilTouchWaits(): Promise<void> {
    const touching = `SELECT id FROM information_schema.processlist
      WHERE db = DATABASE() AND info LIKE '%UPDATE %.keyscope_keys FORCE%'
        AND id <> CONNECTION_ID()`;
    await until(async () => {
      const id = await place.value(touching);
      const [{ Status } = {}] = await place.rows('SHOW ENGINE INNODB STATUS');
      const locked = new RegExp(`LOCK WAIT[^-]+ thread id ${id},`);
      return locked.test(String(Status));
    }, 'the batch waits for a row');
  }
});
