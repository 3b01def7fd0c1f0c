/** The clients of MySQL and MariaDB. */
import { type MysqlClient, mysqlStore } from 'keyscope/stores/mysql';
import { emptyDatabase } from '../support/mysql-clients.ts';
import { SERVERS } from '../support/servers.ts';
import { newestServers } from './newest-servers.ts';
import type { Place, Range, Server, Trial, Versions } from './range.ts';

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
  async function open(loaded: unknown, url: string): Promise<Place> {
    const driver = (loaded as Driver).default;
    const { settings, drop } = await emptyDatabase(url);
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

const ofTests: Server = { name: 'MariaDB', url: () => SERVERS.mysql };
const newest = newestServers('MySQL', (host) => `mysql://root@${host}`);

/** Options behave the same on every server, so the newest only runs a pool and a connection. */
function rangesOf(client: string, versions: Versions, trials: readonly Trial[]): readonly Range[] {
  return [
    { client, ...versions, server: ofTests, trials },
    ...newest.map((server) => ({ client, ...versions, server, trials: trials.slice(0, 2) })),
  ];
}

export const MYSQL: readonly Range[] = [
  ...rangesOf(
    '`mysql2/promise`',
    { lowest: 'mysql2-lowest/promise.js', newest: 'mysql2/promise.js' },
    OF_MYSQL2,
  ),
  ...rangesOf('`mariadb`', { lowest: 'mariadb-lowest', newest: 'mariadb' }, OF_MARIADB),
];
