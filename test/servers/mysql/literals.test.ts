/** Values in statements that are not prepared, as the server reads them. */
import type { KeyRecord } from 'keyscope';
import { mysqlStore } from 'keyscope/stores/mysql';
import { storeContract } from 'keyscope/testing';
import { expect, test } from 'vitest';
import { withLiterals } from '../../../src/stores/mysql/literals.js';
import { type ClientOptions, isMariadb } from '../../support/mysql-clients.ts';
import {
  another,
  type Driver,
  describeMysql,
  lineageOf,
  OWN_KEYS,
  POOLS,
  printed,
  SLOW,
  usageOf,
  usePlace,
  withClient,
} from '../../support/mysql-place.ts';

describeMysql.each(POOLS)('%s, without prepared statements', SLOW, (kind) => {
  const place = usePlace(kind);
  storeContract(test, () => mysqlStore(place.opened.client, { prepare: false }));
});

/** Settings for how a session reads quotes and backslashes, and how strict it is. */
const SESSIONS: readonly (readonly [Driver, ClientOptions])[] = [
  ['mysql2', {}],
  ['mysql2', { multipleStatements: true }],
  ['mysql2', { charset: 'utf8mb4_bin' }],
  ['mariadb', {}],
  ['mariadb', { multipleStatements: true }],
  ['mariadb', { initSql: "SET sql_mode = 'NO_BACKSLASH_ESCAPES'" }],
  ['mariadb', { initSql: "SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'" }],
  ['mariadb', { initSql: "SET sql_mode = ''" }],
  ...(isMariadb ? ([['mariadb', { initSql: "SET sql_mode = 'ORACLE'" }]] as const) : []),
];
const CASES = SESSIONS.map(([driver, options]) => [driver, printed(options), options] as const);

const HOSTILE: readonly string[] = [
  "'",
  '"',
  '`',
  '\\',
  "\\'",
  "\\\\'",
  "' OR '1' = '1",
  "\\' OR 1 = 1 -- ",
  '" OR "" = "',
  "'; DROP TABLE keyscope_keys; -- ",
  "\\'; DROP TABLE keyscope_keys; -- ",
  "X'27'",
  '?',
  ':name',
  '%_',
  '/* */ */',
  '\0',
  '\x1a',
  '\r\n\t\b',
  ' ends with a space ',
  'é🦊',
  '\u0301\u2028\ufeff',
  // In some two-byte character sets, the first of these would swallow the quote.
  "\u00bf'",
  "\u00bf\\'",
  'x'.repeat(70_000),
];

/** A record with the same text in every free field. */
function recordOf(text: string, number: number): KeyRecord {
  const texts = { name: text, justification: text, createdBy: text, metadata: { [text]: text } };
  return { ...another(number), ...texts, scopes: [text], trust: text };
}

describeMysql('a hostile text in a statement that is not prepared', SLOW, () => {
  test.each(CASES)('over %s opened with %s is stored unchanged', async (driver, _, options) => {
    await withClient(`${driver} pool`, options, async ({ client }, { console }) => {
      const store = mysqlStore(client, { prepare: false });
      for (const [number, text] of HOSTILE.entries()) {
        const record = recordOf(text, number);
        await store.insert(record);
        await store.touch([usageOf(record, 5, { [text]: 5 })]);
        const mark = { kind: 'suspend', at: 6, by: text, reason: text } as const;
        expect(await store.mark(record.keyId, mark), text).toBe(true);
        const marked = { suspendedAt: 6, changedAt: 6, endedBy: text, endReason: text };
        const written = { ...record, ...marked, lastUsedAt: 5, scopesUsed: { [text]: 5 } };
        expect(await store.findById(record.keyId), text).toEqual(written);
        expect(await store.findByDigest([record.digest]), text).toEqual([written]);
      }
      // None of them was read as SQL, and none finds anything.
      for (const text of HOSTILE) {
        expect(await store.findByDigest([text])).toEqual([]);
        expect(await store.findById(text)).toBe(null);
        expect(await store.list({ ...OWN_KEYS, prefix: text })).toEqual([]);
        expect(await store.listLineage(lineageOf(text))).toEqual([]);
      }
      const count = await console.value('SELECT COUNT(*) FROM keyscope_keys');
      expect(count).toBe(HOSTILE.length);
      const texts = await console.rows('SELECT HEX(name) AS hex FROM keyscope_keys');
      const expected = HOSTILE.map((text) => Buffer.from(text).toString('hex').toUpperCase());
      expect(texts.map(({ hex }) => hex).sort()).toEqual(expected.sort());
    });
  });
});

describeMysql('withLiterals', () => {
  test('accepts integers and null, and throws for anything else', () => {
    expect(withLiterals('(?, ?, ?)', [-5, null, 8_640_000_000_000_000])).toBe(
      '(-5, NULL, 8640000000000000)',
    );
    const odd: readonly unknown[] = [0.5, Number.NaN, 2 ** 53, true, 5n, {}, ['x'], new Date(5)];
    for (const value of odd) {
      const write = () => withLiterals('(?)', [value as string]);
      expect(write).toThrow('a value must be text, an integer or null');
    }
  });

  test('throws if there are too many or too few values', () => {
    expect(() => withLiterals('(?)', [])).toThrow('1 places and 0 values');
    expect(() => withLiterals('(?)', [1, 2])).toThrow('1 places and 2 values');
  });
});
