/**
 * Workers and D1 databases on this machine, in the runtime that Cloudflare runs and with its
 * SQLite.
 */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { D1Client, D1Session, D1Statement } from 'keyscope/stores/d1';
import { afterAll, beforeAll, describe } from 'vitest';

const { CI } = process.env;

/** What is used of miniflare, which is installed for these tests alone and has no types here. */
interface Miniflare {
  getD1Database(binding: string): Promise<D1Client>;
  dispatchFetch(url: string, init?: RequestInit): Promise<Response>;
  dispose(): Promise<void>;
}
type Options = Readonly<Record<string, unknown>>;

export const FOLDER: URL = new URL('../workerd/', import.meta.url);
const load = createRequire(new URL('package.json', FOLDER));

function constructorOf(): (new (options: Options) => Miniflare) | undefined {
  try {
    return load('miniflare').Miniflare;
  } catch {
    return undefined;
  }
}

/**
 * `describe` for what needs workerd: skipped by name where it is not installed; with `CI=true` it
 * fails.
 */
export const describeWithWorkerd: typeof describe.skip =
  constructorOf() !== undefined || CI === 'true' ? describe : describe.skip;

/** One before requests could wait for each other's promises at all, and a recent one. */
export const COMPATIBILITY_DATES = ['2024-01-01', '2026-07-01'] as const;
const DATABASES = Array.from({ length: 64 }, (_, i) => `DB${i}`);

function start(options: Options): Miniflare {
  const Runtime = constructorOf();
  if (Runtime === undefined) throw new Error('install test/workerd, as `npm run test:stores` does');
  return new Runtime({ modules: true, host: '127.0.0.1', port: 0, ...options });
}

/** `worker.ts` in a runtime of its own with an empty database. Asks it, and reads its answer. */
export async function startWorker(compatibilityDate: string) {
  const path = (name: string) => fileURLToPath(new URL(name, FOLDER));
  const options = {
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2023',
    logLevel: 'error',
  } as const;
  const alias = { keyscope: path('../../src') };
  const { outputFiles } = await build({ ...options, entryPoints: [path('worker.ts')], alias });
  const worker = start({
    script: outputFiles[0]?.text,
    compatibilityDate,
    d1Databases: { DB: 'db' },
  });
  const ask = async (route: string, key?: string): Promise<unknown> => {
    const init = key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } };
    const answer = await worker.dispatchFetch(`http://worker${route}`, init);
    if (answer.status !== 200) throw new Error(`${route}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  return { ask, stop: () => worker.dispose() };
}

/**
 * Empty databases for the tests of a group, in one runtime. Takes what a handle of D1 is asked
 * through a proxy.
 */
export function databases(): () => Promise<D1Client> {
  let runtime: Miniflare;
  let next = 0;
  beforeAll(() => {
    const script = 'export default { fetch: () => new Response() }';
    const d1Databases = Object.fromEntries(DATABASES.map((name) => [name, name]));
    runtime = start({ script, compatibilityDate: COMPATIBILITY_DATES[1], d1Databases });
  });
  afterAll(() => runtime.dispose());
  return () => runtime.getD1Database(DATABASES[next++] ?? '');
}

/** SQL as its owner types it. */
export const sqlOf =
  (db: D1Client) =>
  async (sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> =>
    (await db.prepare(sql).all()).results as readonly Readonly<Record<string, unknown>>[];

/**
 * What a database was asked: sessions, statements with their parameters, and how many of them in
 * each batch.
 */
export interface Asked {
  readonly sessions: string[];
  readonly statements: { readonly sql: string; readonly values: readonly unknown[] }[];
  readonly batches: number[];
}

/**
 * The same database, noting what it is asked; `fails` is thrown, while there is one, in its place.
 */
export function spying(db: D1Client) {
  const asked: Asked = { sessions: [], statements: [], batches: [] };
  const state: { fails: Error | undefined } = { fails: undefined };
  const made = new Map<
    D1Statement,
    { readonly real: D1Statement; readonly noted: Asked['statements'][number] }
  >();
  const check = () => {
    if (state.fails) throw state.fails;
  };
  function statement(real: D1Statement, sql: string, values: readonly unknown[]): D1Statement {
    const noted = { sql, values };
    const own: D1Statement = {
      bind: (...bound) => statement(real.bind(...bound), sql, bound),
      async all() {
        asked.statements.push(noted);
        check();
        return real.all();
      },
    };
    made.set(own, { real, noted });
    return own;
  }
  const session = (of: D1Session): D1Session => ({
    prepare: (sql) => statement(of.prepare(sql), sql, []),
    async batch(statements) {
      const all = statements.flatMap((own) => made.get(own) ?? []);
      asked.statements.push(...all.map(({ noted }) => noted));
      asked.batches.push(statements.length);
      check();
      return of.batch(all.map(({ real }) => real));
    },
  });
  const client: D1Client = {
    ...session(db),
    withSession(constraint) {
      asked.sessions.push(constraint);
      return session(db.withSession?.(constraint) ?? db);
    },
  };
  const forget = () => {
    for (const list of [asked.sessions, asked.statements, asked.batches]) list.length = 0;
  };
  return { client, asked, forget, state };
}
