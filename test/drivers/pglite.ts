/** PostgreSQL in this process. */
import { type PostgresClient, postgresStore } from 'keyscope/stores/postgres';
import type { Place, Range, Trial } from './range.ts';

type Options = Readonly<Record<string, unknown>>;

interface Driver {
  readonly PGlite: new (options: Options) => { close(): Promise<void> };
}

const INT8 = 20;

function trialOf(options: string, given: Options): Trial {
  async function open(loaded: unknown): Promise<Place> {
    const { PGlite } = loaded as Driver;
    const client = new PGlite(given);
    const store = postgresStore(client as unknown as PostgresClient);
    return { openStore: () => store, close: () => client.close() };
  }
  return { options, open };
}

export const PGLITE: readonly Range[] = [
  {
    client: '`@electric-sql/pglite`',
    server: { name: 'its own', url: () => '' },
    lowest: 'pglite-lowest',
    newest: 'pglite',
    trials: [trialOf('`parsers`: int8 as text', { parsers: { [INT8]: String } })],
  },
];
