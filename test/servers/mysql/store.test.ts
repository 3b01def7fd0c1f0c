import { inspect } from 'node:util';
import { mysqlStore } from 'keyscope/stores/mysql';
import { storeContract } from 'keyscope/testing';
import { expect, test } from 'vitest';
import { OWN } from '../../support/keyring.ts';
import { expectNoKeyIn } from '../../support/leaks.ts';
import { expectLooseCalls } from '../../support/loose.ts';
import {
  another,
  describeMysql,
  KINDS,
  openClient,
  POOLS,
  revokeAt,
  revoked,
  usePlace,
  withClient,
} from '../../support/mysql-place.ts';

describeMysql.each(KINDS)('%s', (kind) => {
  const place = usePlace(kind);
  storeContract(test, () => place.store);
});

describeMysql(
  'mariadb pool, look-ups one by one, in SQL modes that cut texts and read quotes as names',
  () => {
    const initSql =
      "SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI,PAD_CHAR_TO_FULL_LENGTH,HIGH_NOT_PRECEDENCE'";
    const place = usePlace('mariadb pool', { initSql });
    storeContract(test, () => mysqlStore(place.opened.client, { batch: false }));
  },
);

describeMysql('the store', () => {
  test('rejects unknown options', async () => {
    await withClient('mysql2 pool', {}, async ({ client }) => {
      const withOption = (options: object) => () => mysqlStore(client, options);
      expect(withOption({ batches: true })).toThrow(TypeError);
      expect(withOption({ batches: true })).toThrow('batches');
      expect(withOption({ batch: 1 })).toThrow(TypeError);
      expect(withOption({ batch: 1 })).toThrow('batch: pass true or false');
      expect(withOption({ prepare: 'no' })).toThrow(TypeError);
      expect(withOption({ prepare: 'no' })).toThrow('prepare: pass true or false');
    });
  });

  test.each(POOLS)(
    'summarizes as of now without a time, and lists from the beginning without a position: %s',
    async (kind) => {
      await withClient(kind, {}, async ({ client }) => {
        const store = mysqlStore(client);
        await store.insert({ ...another(1), expiresAt: Date.now() - 1 });
        await store.insert({ ...another(2), expiresAt: Date.now() + 3_600_000 });
        const summarize = store.summarize as () => unknown;
        expect(await summarize()).toEqual([{ scheme: 's1', live: 1, lastUsedAt: null }]);
        await expectLooseCalls(store, OWN);
      });
    },
  );

  test('sees at once what another process has acknowledged, at REPEATABLE READ', async () => {
    await withClient('mysql2 pool', {}, async ({ client }, { settings }) => {
      const initSql = 'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ';
      const other = await openClient('mariadb pool', { ...settings, initSql });
      const one = mysqlStore(client);
      const two = mysqlStore(other.client);
      for (let i = 0; i < 50; i++) {
        const record = another(i);
        expect(await two.findByDigest([record.digest])).toEqual([]);
        await one.insert(record);
        expect(await two.findByDigest([record.digest])).toEqual([record]);
        expect(await two.mark(record.keyId, revokeAt(i))).toBe(true);
        expect(await one.findById(record.keyId)).toEqual(revoked(record, i));
        expect(await one.mark(record.keyId, revokeAt(i))).toBe(false);
      }
      await other.end();
    });
  });

  test('writes no key into the database', async () => {
    await withClient('mysql2 pool', {}, async ({ client }, { console }) => {
      await expectNoKeyIn(mysqlStore(client), async () => {
        const all = 'SELECT *, CAST(digest AS CHAR) AS text FROM keyscope_keys';
        return inspect(await console.rows(all), { maxStringLength: null });
      });
    });
  });
});
