/** The safeguards against stores that may see less than is there. */
import type { Safeguard } from './safeguard.ts';

const POSTGRES = 'test/servers/postgres';
const MYSQL = 'test/servers/mysql';
const SQLITE = 'test/stores/sqlite';

export const VISIBILITY: readonly Safeguard[] = [
  {
    name: 'visibility: PostgreSQL, rows that a policy hides from a read',
    file: 'src/stores/postgres/visibility.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    text: "CASE WHEN ${hidden} THEN 'hidden' END",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    instead: "CASE WHEN ${hidden} AND false THEN 'hidden' END",
    tests: `${POSTGRES}/visibility.test.ts`,
  },
  {
    name: 'visibility: PostgreSQL, rows that a policy hides from a mark',
    file: 'src/stores/postgres/visibility.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    text: 'SELECT answer FROM marked ${OR_FAILURE}`',
    instead: 'SELECT answer FROM marked`',
    tests: `${POSTGRES}/visibility.test.ts`,
  },
  {
    name: 'visibility: PostgreSQL, rows that a crash deletes',
    file: 'src/stores/postgres/visibility.ts',
    text: "relpersistence <> 'p'",
    instead: "relpersistence = 't'",
    tests: `${POSTGRES}/visibility.test.ts`,
  },
  {
    name: 'visibility: PostgreSQL, the schema of the start',
    file: 'src/stores/postgres/visibility.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    text: '`${schema}.${name}`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    instead: '`${name}`',
    tests: `${POSTGRES}/visibility.test.ts`,
  },
  {
    name: 'visibility: MySQL, the database of the start',
    file: 'src/stores/mysql/client.ts',
    text: "if (database === '') return sql;",
    instead: "if (database !== '\\0') return sql;",
    tests: `${MYSQL}/visibility.test.ts`,
  },
  {
    name: 'visibility: MySQL, a view in the place of the table',
    file: 'src/stores/mysql/statements.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    text: '${SELECT} (PRIMARY, digest)',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    instead: "${SELECT.replace('FORCE INDEX', '')}",
    tests: `${MYSQL}/freshness.test.ts`,
  },
  {
    name: 'visibility: SQLite, temporary tables',
    file: 'src/stores/sqlite/client.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    text: '`${verb} main.${table}${as}`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    instead: '`${verb} ${table}${as}`',
    tests: `${SQLITE}/visibility.test.ts`,
  },
];
