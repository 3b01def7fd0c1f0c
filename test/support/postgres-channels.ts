/** Channels over LISTEN and NOTIFY, with every driver. */
import type { PostgresChannel } from 'keyscope/stores/postgres';
import pg from 'pg';
import { postgresJs, sharedPglite, url } from './postgres-clients.ts';

/**
 * The two ends of a channel, which could be in different processes, and a function that closes
 * both.
 */
export interface Ends {
  readonly here: PostgresChannel;
  readonly there: PostgresChannel;
  close(): Promise<unknown>;
}

/** An unconnected `pg` client whose connection can be found by its name. */
export function namedClient(name: string): pg.Client {
  return new pg.Client({ connectionString: url, application_name: name });
}

async function openPg(name: string): Promise<Ends> {
  const made: pg.Client[] = [];
  function make(): pg.Client {
    const client = namedClient(name);
    made.push(client);
    return client;
  }
  async function close(): Promise<void> {
    await Promise.allSettled(made.map((client) => client.end()));
  }
  return { here: make, there: make, close };
}

async function openPostgresJs(name: string): Promise<Ends> {
  const here = postgresJs({ application_name: name });
  const there = postgresJs({ application_name: name });
  async function close(): Promise<void> {
    await here.end({ timeout: 1 });
    await there.end({ timeout: 1 });
  }
  return { here, there, close };
}

async function openPglite(): Promise<Ends> {
  const db = await sharedPglite();
  // PGlite is shared, so it stays open.
  return { here: db, there: db, close: async () => {} };
}

const OPENERS: Readonly<Record<string, (name: string) => Promise<Ends>>> = {
  pg: openPg,
  'postgres.js': openPostgresJs,
  PGlite: openPglite,
};

/** The names of the drivers. */
export const CHANNELS: readonly string[] = Object.keys(OPENERS);

/** Opens a channel over a driver. Its connections, if it has any, get a name. */
export function openChannel(kind: string, name: string = 'keyscope'): Promise<Ends> {
  const opener = OPENERS[kind];
  if (opener === undefined) throw new Error(`no channel ${kind}`);
  return opener(name);
}
