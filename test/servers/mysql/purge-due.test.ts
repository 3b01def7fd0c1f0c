/** Which of the keys that have ended a purge deletes. */
import type { KeyRecord } from 'keyscope';
import type { MysqlClient, MysqlPool } from 'keyscope/stores/mysql';
import { mysqlStore, purgeEnded } from 'keyscope/stores/mysql';
import { expect, onTestFinished, test } from 'vitest';
import { emptyDatabase, ignoreChecks, openConsole } from '../../support/mysql-clients.ts';
import {
  another,
  describeMysql,
  lending,
  openClient,
  SLOW,
  withClient,
} from '../../support/mysql-place.ts';
import { type PurgePlace, purgeSuite } from '../../support/purge-suite.ts';

const ENDED = { retireAt: 5 };

function purge(client: MysqlClient): Promise<readonly string[]> {
  return purgeEnded(client, { endedBefore: new Date(1_000_000) });
}

async function makePlace(): Promise<PurgePlace> {
  const { settings, console, drop } = await emptyDatabase();
  const { client, end } = await openClient('mysql2 pool', settings);
  onTestFinished(async () => {
    await end();
    await drop();
  });
  async function damage(keyId: string): Promise<void> {
    for (const trigger of ['update', 'marks']) {
      await console.rows(`DROP TRIGGER IF EXISTS keyscope_keys_${trigger}`);
    }
    await ignoreChecks(console);
    const lists = "accessible_entities = 'none', scopes = '{', withdrawn = ''";
    await console.rows(`UPDATE keyscope_keys SET ${lists} WHERE key_id = '${keyId}'`);
  }
  const store = mysqlStore(client);
  return { store, purge: (endedBefore) => purgeEnded(client, { endedBefore }), damage };
}

/** Two ended keys, each the first of its chain, and a new key whose field names the former. */
function beginnings(field: string): readonly [KeyRecord, KeyRecord, KeyRecord] {
  const first = { ...another(1), ...ENDED };
  return [first, { ...another(2), ...ENDED }, { ...another(50_000), [field]: first.keyId }];
}

describeMysql('purgeEnded', SLOW, () => {
  purgeSuite(makePlace);

  test.each(['rootKeyId', 'issuedUnder'])(
    'keeps a first key that the %s of a key names that was inserted since it was found',
    async (field) => {
      await withClient('mysql2 pool', {}, async ({ client }) => {
        const store = mysqlStore(client);
        const [first, other, late] = beginnings(field);
        for (const record of [first, other]) await store.insert(record);
        const pool = lending(client as MysqlPool, (loan) => ({
          ...loan,
          async query(statement) {
            if (statement.sql.includes('SKIP LOCKED')) await store.insert(late);
            return loan.query(statement);
          },
        }));
        expect(await purge(pool)).toEqual([other.keyId]);
        expect(await store.findById(first.keyId)).toEqual(first);
      });
    },
  );

  test('waits for no key of a chain that another transaction has locked', async () => {
    await withClient('mysql2 pool', {}, async ({ client }, { settings }) => {
      const store = mysqlStore(client);
      const first = { ...another(1), ...ENDED };
      const second = { ...another(2), rootKeyId: first.keyId, retireAt: 2_000_000 };
      for (const record of [first, second]) await store.insert(record);
      const rival = await openConsole(settings);
      onTestFinished(() => rival.end());
      await rival.rows('START TRANSACTION');
      await rival.rows(
        `UPDATE keyscope_keys SET last_used_at = 9 WHERE key_id = '${second.keyId}'`,
      );
      expect(await purge(client)).toEqual([first.keyId]);
      await rival.rows('ROLLBACK');
    });
  });

  test('goes on after a key whose times are damaged', async () => {
    await withClient('mariadb pool', {}, async ({ client }, { console }) => {
      const store = mysqlStore(client);
      const records = [1, 2, 3].map((n) => ({ ...another(n), ...ENDED }));
      for (const record of records) await store.insert(record);
      for (const trigger of ['update', 'marks']) {
        await console.rows(`DROP TRIGGER keyscope_keys_${trigger}`);
      }
      await ignoreChecks(console);
      for (const [index, damage] of ['created_at = 1 << 60', 'revoked_at = -(1 << 60)'].entries()) {
        const where = `WHERE key_id = '${records[index]?.keyId}'`;
        await console.rows(`UPDATE keyscope_keys SET ${damage} ${where}`);
      }
      // It cannot be said that the first was created before the time.
      expect(await purge(client)).toEqual(records.slice(1).map(({ keyId }) => keyId));
    });
  });
});
