import { setTimeout as sleep } from 'node:timers/promises';
import { createKeyring, definePolicy, type KeyStore } from 'keyscope';
import { mysqlStore } from 'keyscope/stores/mysql';
import { postgresStore } from 'keyscope/stores/postgres';
import { expect, test } from 'vitest';
import { AUTHORITY, bearer, catalog, PEPPER, PLAIN } from '../support/keyring.ts';
import { openConsole } from '../support/mysql-clients.ts';
import { describeMysql, usePlace } from '../support/mysql-place.ts';
import { pgClient } from '../support/postgres-clients.ts';
import { describePostgres, using } from '../support/postgres-place.ts';

/** `npm run lab -- load` holds the lock for longer than any timeout of the servers. */
const { KEYSCOPE_TEST_LOCK_SECONDS = '3' } = process.env;
const SECONDS = Number(KEYSCOPE_TEST_LOCK_SECONDS);
const TIMEOUT = { timeout: (SECONDS + 60) * 1_000 };

const STORE_TIMEOUT_MS = 2_000;
const KEYS = 20;

const policy = definePolicy(catalog, { list: ['threats:read'] });

/** Locks the row of a key, until the returned function is called. */
type Hold = (keyId: string) => Promise<() => Promise<void>>;

describePostgres('a lock on one key in PostgreSQL', TIMEOUT, () => {
  const place = using('pg Pool of 10');
  const hold: Hold = async (keyId) => {
    const client = await pgClient(place.schema.settings);
    await client.query('BEGIN');
    await client.query(`SELECT FROM keyscope_keys WHERE key_id = '${keyId}' FOR UPDATE`);
    return () => client.end();
  };
  isNoticedByNoOther(() => postgresStore(place.client), hold);
});

describeMysql.each(['mysql2 pool', 'mariadb pool'])(
  'a lock on one key over a %s',
  TIMEOUT,
  (kind) => {
    const place = usePlace(kind);
    const hold: Hold = async (keyId) => {
      const console = await openConsole(place.database.settings);
      await console.rows('START TRANSACTION');
      await console.rows(`SELECT 1 FROM keyscope_keys WHERE key_id = '${keyId}' FOR UPDATE`);
      return () => console.end();
    };
    isNoticedByNoOther(() => mysqlStore(place.opened.client), hold);
  },
);

// One idle transaction that held one row took all keys down within a minute: every five seconds
// another write of usage waited on a connection of the pool, until look-ups got none.
function isNoticedByNoOther(open: () => KeyStore, hold: Hold): void {
  test(`does not affect other keys, for ${SECONDS} s`, async () => {
    const store = open();
    const usage = { intervalMs: 100, granularityMs: 0 };
    const told: unknown[] = [];
    const keyring = createKeyring({
      prefix: 'acme',
      policy,
      peppers: [PEPPER],
      store,
      storeTimeoutMs: STORE_TIMEOUT_MS,
      usage,
      onError: (error) => told.push(error),
    });
    const issuing = Array.from({ length: KEYS }, () => keyring.issue(PLAIN, AUTHORITY));
    const issued = await Promise.all(issuing);
    const [locked, ...others] = issued;
    if (locked === undefined) throw new Error('no key was issued');
    const release = await hold(locked.info.keyId);

    const start = Date.now();
    try {
      while (Date.now() - start < SECONDS * 1_000) {
        // The key itself can still be looked up: reads do not wait for the row.
        await Promise.all(
          issued.map(({ key }) => keyring.admit(bearer(key), { operation: 'list' })),
        );
        await sleep(20);
      }
      for (const { info } of others) {
        const row = await store.findById(info.keyId);
        // On MySQL, each write waits a whole second for the lock.
        expect(row?.lastUsedAt).toBeGreaterThan(start + SECONDS * 300);
      }
      const held = await store.findById(locked.info.keyId);
      expect(held?.lastUsedAt).toBe(null);
      // If nobody learned of the failure, the key would look unused.
      expect(told.length).toBeGreaterThan(0);
    } finally {
      await release();
    }
    await keyring.flush();
    expect((await store.findById(locked.info.keyId))?.lastUsedAt).toBeGreaterThan(start);
  });
}
