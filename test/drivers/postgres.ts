/** The clients of PostgreSQL. */
import { type PostgresClient, postgresStore } from 'keyscope/stores/postgres';
import { SERVERS } from '../support/servers.ts';
import { startPostgres18 } from './postgres-18.ts';
import { createDatabase } from './postgres-database.ts';
import type { Place, Range, Server, Trial, Versions } from './range.ts';

type Options = Readonly<Record<string, unknown>>;

/** A client that a trial opened, and a function that closes it. */
interface Opened {
  readonly client: unknown;
  end(): Promise<unknown>;
}

function trialOf(
  options: string,
  connect: (driver: unknown, url: string) => Promise<Opened>,
): Trial {
  async function open(driver: unknown, server: string): Promise<Place> {
    const database = await createDatabase(server);
    const { client, end } = await connect(driver, database.url);
    const store = postgresStore(client as PostgresClient);
    return {
      openStore: () => store,
      async close() {
        await end();
        await database.drop();
      },
    };
  }
  return { options, open };
}

// ── pg ──────────────────────────────────────────────────────────────────────────────────────────

interface PgConnection {
  connect(): Promise<unknown>;
  on(event: 'error', listener: () => void): unknown;
  end(): Promise<unknown>;
}

interface PgDriver {
  readonly default: Readonly<
    Record<'Pool' | 'Client', new (options: Options) => PgConnection> & { readonly types: PgTypes }
  >;
}

interface PgTypes {
  getTypeParser(oid: number, format?: string): (text: string) => unknown;
}

type Parsers = (types: PgTypes) => Readonly<Record<number, (text: string) => unknown>>;

const NO_PARSERS: Parsers = () => ({});

function pgConnect(kind: 'Pool' | 'Client', given: Options, parsersOf: Parsers = NO_PARSERS) {
  return async (loaded: unknown, url: string): Promise<Opened> => {
    const { [kind]: Connection, types } = (loaded as PgDriver).default;
    const parsers = parsersOf(types);
    const own: PgTypes = {
      getTypeParser: (oid, format) => parsers[oid] ?? types.getTypeParser(oid, format),
    };
    const client = new Connection({ connectionString: url, types: own, ...given });
    client.on('error', () => {});
    if (kind === 'Client') await client.connect();
    return { client, end: () => client.end() };
  };
}

const INT8 = 20;
const BOOL = 16;
const JSON_TYPE = 114;
const JSONB = 3802;

const asNumber: Parsers = () => ({ [INT8]: Number });
const asText: Parsers = () => ({
  [INT8]: BigInt,
  [JSON_TYPE]: String,
  [JSONB]: String,
  [BOOL]: String,
});

const IN_POOL: readonly Trial[] = [
  trialOf('defaults', pgConnect('Pool', {})),
  trialOf('`types`: int8 as BigInt, others as text', pgConnect('Pool', {}, asText)),
  trialOf('`types`: int8 as number; `binary`', pgConnect('Pool', { binary: true }, asNumber)),
];

const IN_CLIENT: readonly Trial[] = [trialOf('defaults', pgConnect('Client', {}))];

// ── postgres.js ─────────────────────────────────────────────────────────────────────────────────

interface PostgresJsDriver {
  readonly default: ((url: string, options: Options) => PostgresJs) & {
    readonly BigInt: unknown;
    readonly camel: unknown;
  };
}

interface PostgresJs {
  end(options: { readonly timeout: number }): Promise<unknown>;
}

function postgresJs(optionsOf: (driver: PostgresJsDriver['default']) => Options) {
  return async (loaded: unknown, url: string): Promise<Opened> => {
    const { default: connect } = loaded as PostgresJsDriver;
    const asAdvised = { fetch_types: false, onnotice: () => {} };
    const client = connect(`${url}?max_pipeline=1`, { ...asAdvised, ...optionsOf(connect) });
    return { client, end: () => client.end({ timeout: 5 }) };
  };
}

const IN_POSTGRES_JS: readonly Trial[] = [
  trialOf(
    'defaults',
    postgresJs(() => ({})),
  ),
  trialOf(
    '`types`: int8 as BigInt; `postgres.camel`; `prepare: false`',
    postgresJs(({ BigInt: bigint, camel }) => ({
      types: { bigint },
      transform: camel,
      prepare: false,
    })),
  ),
];

// ── All of them ─────────────────────────────────────────────────────────────────────────────────

const ofTests: Server = { name: 'PostgreSQL', url: () => SERVERS.postgres };
let started: Promise<string> | undefined;
const newest: Server = {
  name: 'PostgreSQL 18',
  url() {
    started ??= startPostgres18();
    return started;
  },
};

/** Options behave the same on every server, so the newest server only runs the defaults. */
function rangesOf(client: string, versions: Versions, trials: readonly Trial[]): readonly Range[] {
  return [
    { client, ...versions, server: ofTests, trials },
    { client, ...versions, server: newest, trials: trials.slice(0, 1) },
  ];
}

export const POSTGRES: readonly Range[] = [
  ...rangesOf('`pg`, a `Pool`', { lowest: 'pg-lowest', newest: 'pg' }, IN_POOL),
  ...rangesOf('`pg`, a `Client`', { lowest: 'pg-client-lowest', newest: 'pg' }, IN_CLIENT),
  ...rangesOf('`postgres`', { lowest: 'postgres-lowest', newest: 'postgres' }, IN_POSTGRES_JS),
];
