/** The clients of MySQL and MariaDB. */
import { type MysqlClient, mysqlStore } from 'keyscope/stores/mysql';
import { emptyDatabase } from '../support/mysql-clients.ts';
import { SERVERS } from '../support/servers.ts';
import type { Place, Range, Trial } from './range.ts';

type Options = Readonly<Record<string, unknown>>;

interface Connection {
  end(): Promise<unknown>;
}

interface Driver {
  readonly default: Readonly<
    Record<
      'createPool' | 'createConnection',
      (options: Options) => Connection | Promise<Connection>
    >
  >;
}

function trialOf(
  options: string,
  given: Options = {},
  create: keyof Driver['default'] = 'createPool',
): Trial {
  async function open(loaded: unknown): Promise<Place> {
    const driver = (loaded as Driver).default;
    const { settings, drop } = await emptyDatabase();
    const isPool = create === 'createPool';
    const client = await driver[create]({
      ...settings,
      ...(isPool ? { connectionLimit: 10 } : {}),
      ...given,
    });
    const store = mysqlStore(client as unknown as MysqlClient);
    return {
      openStore: () => store,
      async close() {
        await client.end();
        await drop();
      },
    };
  }
  return { options, open };
}

const next = (_field: unknown, read: () => unknown) => read();

/** Options that both drivers have. */
const COMMON: readonly Trial[] = [
  trialOf('defaults'),
  trialOf('one connection', {}, 'createConnection'),
  trialOf('`supportBigNumbers`, `bigNumberStrings`, `dateStrings`', {
    supportBigNumbers: true,
    bigNumberStrings: true,
    dateStrings: true,
  }),
  trialOf('`rowsAsArray`, `nestTables`, `namedPlaceholders`, `multipleStatements`', {
    rowsAsArray: true,
    nestTables: true,
    namedPlaceholders: true,
    multipleStatements: true,
  }),
  trialOf('a `typeCast` that calls `next`', { typeCast: next }),
];

const OF_MYSQL2: readonly Trial[] = [
  ...COMMON,
  trialOf("`decimalNumbers`, `jsonStrings`, `flags: ['-FOUND_ROWS']`", {
    decimalNumbers: true,
    jsonStrings: true,
    flags: ['-FOUND_ROWS'],
  }),
];

const OF_MARIADB: readonly Trial[] = [
  ...COMMON,
  trialOf('`insertIdAsNumber`, `bigIntAsNumber`, `decimalAsNumber`, `foundRows: false`', {
    insertIdAsNumber: true,
    bigIntAsNumber: true,
    decimalAsNumber: true,
    foundRows: false,
  }),
  trialOf('`metaAsArray`, `autoJsonMap: false`, `pipelining: false`', {
    metaAsArray: true,
    autoJsonMap: false,
    pipelining: false,
  }),
];

const server = { name: 'MariaDB', url: () => SERVERS.mysql };

export const MYSQL: readonly Range[] = [
  {
    client: '`mysql2/promise`',
    server,
    lowest: 'mysql2-lowest/promise.js',
    newest: 'mysql2/promise.js',
    trials: OF_MYSQL2,
  },
  { client: '`mariadb`', server, lowest: 'mariadb-lowest', newest: 'mariadb', trials: OF_MARIADB },
];
