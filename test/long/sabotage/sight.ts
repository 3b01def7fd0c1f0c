/** The safeguards against stores that may see less than is there. */
import type { Safeguard } from './safeguard.ts';

const POSTGRES = 'test/servers/postgres';
const MYSQL = 'test/servers/mysql';
const SQLITE = 'test/stores/sqlite';

export const SIGHT: readonly Safeguard[] = [
  {
    name: 'sight: PostgreSQL, rows that a policy hides from a read',
    file: 'src/stores/postgres/sight.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    text: "CASE WHEN ${hidden} THEN 'hidden' END",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    instead: "CASE WHEN ${hidden} AND false THEN 'hidden' END",
    tests: `${POSTGRES}/sight.test.ts`,
  },
  {
    name: 'sight: PostgreSQL, rows that a policy hides from a mark',
    file: 'src/stores/postgres/sight.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    text: 'SELECT answer FROM marked ${OR_FAILURE}`',
    instead: 'SELECT answer FROM marked`',
    tests: `${POSTGRES}/sight.test.ts`,
  },
  {
    name: 'sight: PostgreSQL, rows that a crash deletes',
    file: 'src/stores/postgres/sight.ts',
    text: "relpersistence <> 'p'",
    instead: "relpersistence = 't'",
    tests: `${POSTGRES}/sight.test.ts`,
  },
  {
    name: 'sight: PostgreSQL, the schema of the start',
    file: 'src/stores/postgres/sight.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    text: '`${schema}.${name}`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    instead: '`${name}`',
    tests: `${POSTGRES}/sight.test.ts`,
  },
  {
    name: 'sight: MySQL, the database of the start',
    file: 'src/stores/mysql/client.ts',
    text: "if (database === '') return sql;",
    instead: "if (database !== '\\0') return sql;",
    tests: `${MYSQL}/sight.test.ts`,
  },
  {
    name: 'sight: MySQL, a view in the place of the table',
    file: 'src/stores/mysql/statements.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    text: '${SELECT} (PRIMARY, digest)',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    instead: "${SELECT.replace('FORCE INDEX', '')}",
    tests: `${MYSQL}/freshness.test.ts`,
  },
  {
    name: 'sight: SQLite, temporary tables',
    file: 'src/stores/sqlite/client.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    text: '`${verb} main.${table}${as}`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    instead: '`${verb} ${table}${as}`',
    tests: `${SQLITE}/sight.test.ts`,
  },
];
