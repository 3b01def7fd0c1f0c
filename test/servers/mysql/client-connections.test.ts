import type { KeyStore, Mark } from 'keyscope';
import type { MysqlPool } from 'keyscope/stores/mysql';
import { mysqlStore } from 'keyscope/stores/mysql';
import { expect, test } from 'vitest';
import { OTHER } from '../../support/keyring.ts';
import { type ClientOptions, isMariadb, SERVER } from '../../support/mysql-clients.ts';
import {
  another,
  DRIVERS,
  type Driver,
  describeMysql,
  KINDS,
  lending,
  OWN_KEYS,
  openClient,
  POOLS,
  printed,
  SLOW,
  withClient,
} from '../../support/mysql-place.ts';
import { RECORD } from '../../support/records.ts';

type Cast = (field: { string(): unknown }, next: () => unknown) => unknown;
const asText: Cast = (field) => field.string();
const asItIs: Cast = (_field, next) => next();

/** The options of a driver that could change an answer. */
const OPTIONS: Readonly<Record<Driver, readonly ClientOptions[]>> = {
  mysql2: [
    { supportBigNumbers: true },
    { supportBigNumbers: true, bigNumberStrings: true },
    { decimalNumbers: true },
    { rowsAsArray: true },
    { nestTables: true },
    { nestTables: '_' },
    { jsonStrings: true },
    { disableEval: true },
    { typeCast: asItIs },
    { namedPlaceholders: true },
    { flags: ['-FOUND_ROWS'] },
    { flags: ['+FOUND_ROWS'] },
    { charset: 'utf8mb4_bin' },
    { maxPreparedStatements: 1 },
    { multipleStatements: true },
    { stringifyObjects: true },
    { compress: true },
    { dateStrings: true },
    { queryFormat: (sql: string) => sql.replace(/:(\w+)/g, 'gone') },
  ],
  mariadb: [
    { bigIntAsNumber: true },
    { bigIntAsNumber: true, checkNumberRange: true },
    { decimalAsNumber: true },
    { supportBigNumbers: true },
    { supportBigNumbers: true, bigNumberStrings: true },
    { insertIdAsNumber: true },
    { rowsAsArray: true },
    { nestTables: true },
    { nestTables: '_' },
    { autoJsonMap: false },
    { metaAsArray: true },
    { metaEnumerable: true },
    { typeCast: asText },
    { typeCast: asItIs },
    { namedPlaceholders: true },
    { foundRows: true },
    { foundRows: false },
    { collation: 'utf8mb4_bin' },
    { prepareCacheLength: 0 },
    { pipelining: false },
    { multipleStatements: true },
    { compress: true },
    { permitSetMultiParamEntries: true },
    ...(isMariadb ? ['ORACLE', 'EMPTY_STRING_IS_NULL'] : []).map((mode) => ({
      initSql: `SET sql_mode = '${mode}'`,
    })),
    { initSql: "SET sql_mode = 'ANSI_QUOTES'" },
    { initSql: "SET sql_mode = 'NO_BACKSLASH_ESCAPES'" },
    { initSql: "SET sql_mode = ''" },
    { initSql: 'SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE' },
    { initSql: 'SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED' },
    { initSql: 'SET completion_type = CHAIN' },
    { initSql: 'SET sql_safe_updates = 1' },
    { initSql: "SET collation_connection = 'utf8mb4_unicode_ci'" },
  ],
};

const CASES = DRIVERS.flatMap((driver) =>
  OPTIONS[driver].map((options) => [driver, printed(options), options] as const),
);

/** The last time of a `Date`. */
const MAX = 8_640_000_000_000_000;
const LATEST = { ...RECORD, createdAt: MAX };
const BEFORE_LATEST = { createdAt: MAX, keyId: OTHER.replace('0b', 'ff') };

async function expectExactReads(store: KeyStore): Promise<void> {
  const digests = [LATEST.digest, another(1).digest, another(2).digest];
  const read = [
    await store.findById(LATEST.keyId),
    ...(await store.findByDigest(digests)),
    ...(await store.list({ ...OWN_KEYS, limit: 3 })),
    ...(await store.list({ ...OWN_KEYS, after: BEFORE_LATEST, limit: 3 })),
  ];
  expect(read).toEqual([LATEST, LATEST, LATEST, LATEST]);
}

async function expectExactWrites(store: Required<KeyStore>): Promise<void> {
  const { keyId } = LATEST;
  const guest = OTHER;
  const marks: readonly Mark[] = [
    { kind: 'suspend', at: 5, by: 'é🦊', reason: '' },
    { kind: 'resume', at: 6 },
    { kind: 'withdraw', at: 7, entityId: guest },
    { kind: 'retire', at: 8, retireAt: MAX, by: 'é🦊', reason: null, withdrawn: [guest] },
  ];
  for (const mark of marks) {
    expect(await store.mark(keyId, mark)).toBe(true);
    expect(await store.mark(keyId, mark)).toBe(false);
  }
  const scopesUsed = { 'a:b': MAX, 'c:d': 1 };
  await store.touch([{ keyId, lastUsedAt: MAX, scopesUsed }]);
  await store.touch([{ keyId, lastUsedAt: 1, scopesUsed: { 'a:b': 1 } }]);
  const marked = { withdrawn: [guest], retireAt: MAX, changedAt: 8, endedBy: 'é🦊' };
  const written = { ...LATEST, ...marked, lastUsedAt: MAX, scopesUsed };
  expect(await store.findById(keyId)).toEqual(written);
  expect(await store.summarize(0)).toEqual([{ scheme: 's1', live: 1, lastUsedAt: MAX }]);
  const again = async () => store.insert(LATEST);
  await expect(again).rejects.toThrow('keyscope: a key with this id or digest exists already');
}

describeMysql('a connection', SLOW, () => {
  test.each(CASES)('of %s opened with %s gives the same answers', async (driver, _, options) => {
    await withClient(`${driver} connection`, options, async ({ client }) => {
      const store = mysqlStore(client);
      await store.insert(LATEST);
      await expectExactReads(store);
      await expectExactWrites(store);
    });
  });

  // The other rows were missing, and their keys unknown.
  test.each(['mariadb connection', 'mariadb pool'])(
    'of a %s with sql_select_limit = 1 reads every row',
    async (kind) => {
      const initSql = 'SET sql_select_limit = 1';
      await withClient(kind, { initSql }, async ({ client }) => {
        const store = mysqlStore(client);
        const peppered = { ...another(1), digest: `h1.p1$${'0'.repeat(64)}` };
        const records = [RECORD, peppered, another(2)];
        const digests = records.map(({ digest }) => digest);
        for (const record of records) await store.insert(record);
        const answers = await Promise.all(
          digests.map(async (digest) => store.findByDigest([digest])),
        );
        expect(answers.map(([found]) => found)).toEqual(records);
        expect(await store.findByDigest(digests)).toHaveLength(3);
        expect(await store.list(OWN_KEYS)).toHaveLength(3);
        const summary = await store.summarize(0);
        const counts = Object.fromEntries(summary.map(({ scheme, live }) => [scheme, live]));
        expect(counts).toEqual({ 'h1.p1': 1, s1: 2 });
        expect(summary).toHaveLength(2);
      });
    },
  );

  // mysql2 gives this error no code, so the advice was to connect without a typeCast.
  test.each(KINDS)('of a %s reports that it is closed', async (kind) => {
    const { client, end } = await openClient(kind, SERVER);
    await end();
    const find = async () => mysqlStore(client).findById(RECORD.keyId);
    await expect(find).rejects.toThrow(/^keyscope: .*closed/);
  });

  test('without a database reports that', async () => {
    const { client, end } = await openClient('mysql2 connection', SERVER);
    const find = async () => mysqlStore(client).findById(RECORD.keyId);
    await expect(find).rejects.toThrow('keyscope: No database');
    await end();
  });

  test.each(POOLS)(
    'of a %s returns after each write, but not in an unknown state',
    async (kind) => {
      await withClient(kind, { connectionLimit: 1 }, async ({ client }) => {
        let fails = false;
        const ends: string[] = [];
        const pool = lending(client as MysqlPool, (loan) => ({
          ...loan,
          query: (statement) =>
            fails && statement.sql.startsWith('ROLLBACK')
              ? Promise.reject(new Error('interrupted'))
              : loan.query(statement),
          release() {
            ends.push('released');
            return loan.release();
          },
          destroy() {
            ends.push('destroyed');
            return loan.destroy();
          },
        }));
        const store = mysqlStore(pool);
        const insertAgain = async () => store.insert(RECORD);
        await store.insert(RECORD);
        ends.length = 0;
        await store.insert(another(1));
        await expect(insertAgain).rejects.toThrow('exists already');
        fails = true;
        await expect(insertAgain).rejects.toThrow('exists already');
        expect(ends).toEqual(['released', 'released', 'destroyed']);
        // The pool may have only one: a new connection replaced it.
        expect(await store.findById(RECORD.keyId)).toEqual(RECORD);
      });
    },
  );
});
