/** The safeguards of the stores: most want their servers. */
import type { Safeguard } from './safeguard.ts';

const POSTGRES = 'test/servers/postgres';
const MYSQL = 'test/servers/mysql';
const REDIS = 'test/servers/redis';
const SQLITE = 'test/stores/sqlite';

const TRIGGERS: readonly Safeguard[] = [
  {
    name: 'trigger: SQLite',
    file: 'src/stores/schema/sqlite.ts',
    text: '  expires_at, rotated_from\nON keyscope_keys\nBEGIN',
    instead: '  expires_at, rotated_from\nON keyscope_keys\nWHEN false\nBEGIN',
    tests: SQLITE,
  },
  {
    name: 'trigger: SQLite, a rowid',
    file: 'src/stores/schema/sqlite.ts',
    text: 'WHEN NEW._rowid_ IS NOT OLD._rowid_',
    instead: 'WHEN false',
    tests: SQLITE,
  },
  {
    name: 'trigger: SQLite, a rowid that is taken',
    file: 'src/stores/schema/sqlite.ts',
    text: ' \\\nOR _rowid_ = NEW._rowid_',
    instead: '',
    tests: SQLITE,
  },
  {
    name: 'trigger: PostgreSQL',
    file: 'src/stores/schema/postgres.ts',
    text: 'keyscope_keys_update AFTER UPDATE ON keyscope_keys FOR EACH ROW\nWHEN (\n',
    instead: 'keyscope_keys_update AFTER UPDATE ON keyscope_keys FOR EACH ROW\nWHEN ( false AND\n',
    tests: POSTGRES,
  },
  {
    name: 'trigger: MySQL',
    file: 'src/stores/schema/mysql.ts',
    text: 'SET NEW.key_id = IF(\n  NEW.key_id <=> OLD.key_id',
    instead: 'SET NEW.key_id = IF(\n  true OR NEW.key_id <=> OLD.key_id',
    tests: MYSQL,
  },
  {
    name: 'binary collation: MySQL',
    file: 'src/stores/schema/mysql.ts',
    text: 'digest VARBINARY(255) NOT NULL UNIQUE',
    instead: 'digest VARCHAR(255) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL UNIQUE',
    tests: MYSQL,
  },
];

const CONDITIONAL_WRITES: readonly Safeguard[] = [
  {
    name: 'conditional update: PostgreSQL',
    file: 'src/stores/postgres/statements.ts',
    text: 'WHERE key_id = $1::text::uuid AND retire_at IS NULL AND revoked_at IS NULL AND ',
    instead: 'WHERE key_id = $1::text::uuid AND ',
    tests: POSTGRES,
  },
  {
    name: 'conditional update: MySQL',
    file: 'src/stores/mysql/statements.ts',
    text: 'WHERE key_id = ? AND retire_at IS NULL AND revoked_at IS NULL',
    instead: 'WHERE key_id = ?',
    tests: MYSQL,
  },
  {
    name: 'conditional update: SQLite',
    file: 'src/stores/sqlite/statements.ts',
    text: 'SET revoked_at = ? WHERE key_id = ? AND revoked_at IS NULL',
    instead: 'SET revoked_at = ? WHERE key_id = ?',
    tests: SQLITE,
  },
];

const CLIENTS: readonly Safeguard[] = [
  {
    name: 'reads in a transaction of somebody else: SQLite',
    file: 'src/stores/sqlite/transactions.ts',
    text: 'if (db.isTransaction || db.inTransaction)',
    instead: 'if (false)',
    tests: SQLITE,
  },
  {
    name: 'a Client that cannot tell of transactions: PostgreSQL',
    file: 'src/stores/postgres/clients.ts',
    text: 'assert(!isOlderClient, ',
    instead: 'assert(true, ',
    tests: POSTGRES,
  },
  {
    name: 'writes that meet: PostgreSQL',
    file: 'src/stores/postgres/driver-errors.ts',
    text: "new Set(['40001', '40P01'])",
    instead: 'new Set()',
    tests: POSTGRES,
  },
];

const IN_REDIS: readonly Safeguard[] = [
  {
    name: 'two services on one server: Redis',
    file: 'src/stores/redis/options.ts',
    text: '!hasKeyPrefix(client)',
    instead: 'true',
    tests: REDIS,
  },
  {
    name: 'one spelling of a field: Redis',
    file: 'src/stores/redis/fields.ts',
    text: 'JSON.stringify(value) === json',
    instead: 'true',
    tests: REDIS,
  },
  {
    name: 'conditional update: Redis',
    file: 'src/stores/redis/scripts.ts',
    text: "if revokedAt ~= 'null' then return 0 end",
    instead: '',
    tests: REDIS,
  },
];

export const STORES: readonly Safeguard[] = [
  ...TRIGGERS,
  ...CONDITIONAL_WRITES,
  ...CLIENTS,
  ...IN_REDIS,
];
