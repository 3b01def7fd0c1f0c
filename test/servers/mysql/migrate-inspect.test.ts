import type { MysqlClient } from 'keyscope/stores/mysql';
import { migrate, mysqlStore } from 'keyscope/stores/mysql';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { ClientOptions } from '../../support/mysql-clients.ts';
import {
  type Driver,
  describeMysql,
  printed,
  SLOW,
  withClient,
  withoutSight,
} from '../../support/mysql-place.ts';
import { RECORD } from '../../support/records.ts';

/** Connections that must be rejected at the first use, and the advice in the error. */
interface Refusal {
  readonly driver: Driver;
  readonly options: ClientOptions;
  readonly why: string;
  /** Only on a single connection: a pool ends the transaction on a new one. */
  readonly isAlone?: true;
}

interface Field {
  readonly type: string;
  string(): string | null;
}

function trimmed(field: Field, next: () => unknown): unknown {
  return field.type === 'VAR_STRING' ? (field.string()?.trim() ?? null) : next();
}

const CHARSET = "charset 'utf8mb4'";
const AS_IT_IS = 'rows as objects, texts as strings, and integers unchanged';

const REFUSALS: readonly Refusal[] = [
  { driver: 'mysql2', options: { charset: 'latin1' }, why: CHARSET },
  { driver: 'mysql2', options: { charset: 'utf8' }, why: CHARSET },
  // It reads the first bytes of numbers as a length.
  { driver: 'mysql2', options: { typeCast: false }, why: AS_IT_IS },
  { driver: 'mysql2', options: { typeCast: () => 'x' }, why: AS_IT_IS },
  { driver: 'mariadb', options: { typeCast: () => 'x' }, why: AS_IT_IS },
  // Names were trimmed, and their keys rejected as tampered with.
  { driver: 'mysql2', options: { typeCast: trimmed }, why: 'no typeCast that changes texts' },
  { driver: 'mariadb', options: { typeCast: trimmed }, why: 'no typeCast that changes texts' },
  { driver: 'mariadb', options: { charset: 'latin1' }, why: CHARSET },
  { driver: 'mariadb', options: { initSql: 'SET NAMES utf8mb3' }, why: CHARSET },
  { driver: 'mariadb', options: { initSql: 'SET character_set_results = latin1' }, why: CHARSET },
  { driver: 'mariadb', options: { initSql: 'SET autocommit = 0' }, why: 'autocommit off' },
  {
    driver: 'mariadb',
    options: { initSql: 'START TRANSACTION' },
    why: 'in the middle of a transaction',
    isAlone: true,
  },
];

const CASES = REFUSALS.map(
  (refusal) => [refusal.driver, printed(refusal.options), refusal.why, refusal] as const,
);

async function expectRefusals(client: MysqlClient, why: string): Promise<void> {
  const store = mysqlStore(client);
  const uses = [
    async () => store.insert(RECORD),
    async () => store.findById(RECORD.keyId),
    async () => migrate(client),
  ];
  for (const use of uses) await expect(use).rejects.toThrow(why);
}

describeMysql('the inspection at the first use', SLOW, () => {
  test.each(CASES)(
    'rejects a connection of %s opened with %s: %s',
    async (driver, _printed, why, { options, isAlone }) => {
      // mysql2 prints a warning if it cannot read a number.
      const trace = vi.spyOn(console, 'trace').mockImplementation(() => {});
      onTestFinished(() => trace.mockRestore());
      const kinds = isAlone ? ['connection'] : ['connection', 'pool'];
      for (const kind of kinds) {
        await withClient(`${driver} ${kind}`, options, async ({ client }, { console }) => {
          await expectRefusals(client, why);
          expect(await console.rows('SHOW TABLES')).toEqual([]);
        });
      }
    },
  );

  // The first DDL statement would commit the transaction of somebody else.
  test('rejects an open transaction that rows do not show, and leaves it open', async () => {
    await withClient('mysql2 connection', {}, async ({ client, query }, { console }) => {
      await query('CREATE TABLE theirs (a INT) ENGINE = InnoDB');
      await query('START TRANSACTION');
      await query('INSERT INTO theirs VALUES (1)');
      await expectRefusals(withoutSight(client), 'in the middle of a transaction');
      await query('ROLLBACK');
      expect(await console.rows('SELECT * FROM theirs')).toEqual([]);
    });
  });

  // Simulated, because other tests use the same server.
  test.each([
    ['@@read_only', '1'],
    ['@@read_only', "'NO_LOCK'"],
    ['@@innodb_read_only', '1'],
  ])('rejects a server with %s = %s', async (variable, value) => {
    await withClient('mysql2 connection', {}, async ({ client }) => {
      const changed: MysqlClient = {
        execute: ({ sql, ...options }, values) =>
          client.execute(Object.assign({ sql: sql.replace(variable, value) }, options), values),
        query: (statement) => client.query(statement),
      };
      const find = async () => mysqlStore(changed).findById(RECORD.keyId);
      await expect(find).rejects.toThrow('Connect to the primary');
    });
  });
});
