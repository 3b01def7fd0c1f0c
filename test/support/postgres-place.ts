/** Fixtures of the PostgreSQL store's tests: a client on a separate schema. */
import type { KeyRecord, KeyStore } from 'keyscope';
import { postgresStore } from 'keyscope/stores/postgres';
import { afterAll, beforeAll, describe } from 'vitest';
import { OTHER, OWN } from './keyring.ts';
import {
  CLIENTS,
  emptySchema,
  type Opened,
  type Schema,
  type Settings,
} from './postgres-clients.ts';
import { missingPostgres } from './postgres-servers.ts';
import { RECORD as BASE, numbered } from './records.ts';
import { describeOn } from './servers.ts';

type Describe = Awaited<ReturnType<typeof describeOn>>;

/** `describe` for tests that need the server. */
export const describePostgres: Describe = await describeOn('postgres');

const { CI } = process.env;

/** `describe` for tests that start servers. Without an installed one they are skipped by name. */
export const describeOwnPostgres: Describe =
  missingPostgres === undefined || CI === 'true' ? describe : describe.skip;

/** The names of all clients. */
export const KINDS: readonly string[] = Object.keys(CLIENTS);

/** `describe` for one client: PGlite needs no server. */
export function describeKind(kind: string): Describe {
  return kind === 'PGlite' ? describe : describePostgres;
}

/** Opens a client by its name. */
export function open(kind: string, settings: Settings): Promise<Opened> {
  const opener = CLIENTS[kind];
  if (opener === undefined) throw new Error(`no client ${kind}`);
  return opener(settings);
}

/** A row with every kind of value. */
export const RECORD: KeyRecord = {
  ...BASE,
  accessibleEntities: [OWN, OTHER],
  metadata: { a: 'é🦊', some_name: 'x' },
};

/** Makes records like it. */
export const another: (n: number) => KeyRecord = numbered(RECORD);

/** A client on an empty schema, with a function that runs SQL there. */
export interface Place extends Opened {
  readonly schema: Schema;
}

/** Opens a place for one test, which closes it with `end`. */
export async function openPlace(kind: string, settings: Settings = {}): Promise<Place> {
  const schema = await emptySchema(kind);
  const opened = await open(kind, { ...settings, ...schema.settings });
  async function end(): Promise<void> {
    await opened.end();
    await schema.drop();
  }
  return { client: opened.client, sql: schema.sql, end, schema };
}

/** Runs `act` in a separate place. */
export async function alone<T>(
  kind: string,
  act: (own: Place) => Promise<T>,
  settings?: Settings,
): Promise<T> {
  const own = await openPlace(kind, settings);
  try {
    return await act(own);
  } finally {
    await own.end();
  }
}

/** A place with a store. */
export interface PlaceWithStore extends Place {
  readonly store: Required<KeyStore>;
}

/** Makes a place with a store for a group of tests, and fills it in before the first of them. */
export function using(kind: string, settings?: Settings): PlaceWithStore {
  const used = {} as PlaceWithStore;
  beforeAll(async () => {
    const own = await openPlace(kind, settings);
    Object.assign(used, own, { store: postgresStore(own.client) });
    // PGlite takes seconds to start.
  }, 60_000);
  afterAll(() => used.end());
  return used;
}

/** Returns the first column of the first row. */
export async function value(sql: Opened['sql'], text: string): Promise<unknown> {
  const rows = await sql(text);
  return Object.values(rows[0] ?? {})[0];
}
