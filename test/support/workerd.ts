/** Workers and D1 databases on this machine, in Cloudflare's own runtime with its SQLite. */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { D1Client } from 'keyscope/stores/d1';
import { afterAll, beforeAll, describe } from 'vitest';
import { packageEntries } from './package-entries.ts';

const { CI } = process.env;

/** The part of miniflare that the tests use. Only these tests install it, without types. */
interface Miniflare {
  getD1Database(binding: string): Promise<D1Client>;
  dispatchFetch(url: string, init?: RequestInit): Promise<Response>;
  dispose(): Promise<void>;
}
type RuntimeOptions = Readonly<Record<string, unknown>>;
type Constructor = new (options: RuntimeOptions) => Miniflare;

export const FOLDER: URL = new URL('../workerd/', import.meta.url);
const load = createRequire(new URL('package.json', FOLDER));

function constructorOf(): Constructor | undefined {
  try {
    const { Miniflare } = load('miniflare') as { readonly Miniflare: Constructor };
    return Miniflare;
  } catch {
    return undefined;
  }
}

/**
 * `describe` for tests that need workerd. If it is not installed, they are skipped under their
 * names; with `CI=true` they fail.
 */
export const describeWithWorkerd: typeof describe.skip =
  constructorOf() !== undefined || CI === 'true' ? describe : describe.skip;

/** Every query goes through the proxy, which takes time, especially on a busy machine. */
export const SLOW = { timeout: 120_000 };

/** A date before requests could await each other's promises, and a recent one. */
export const OLD_DATE = '2024-01-01';
export const RECENT_DATE = '2026-07-01';

function start(options: RuntimeOptions): Miniflare {
  const Runtime = constructorOf();
  if (Runtime === undefined)
    throw new Error(
      '`test/workerd` is not installed. Run `npm run test:stores`, which installs it.',
    );
  return new Runtime({ modules: true, host: '127.0.0.1', port: 0, ...options });
}

// ── Workers ───────────────────────────────────────────────────────────────────────────────────

/** Bundles `worker.ts` into one script. */
async function bundleWorker(): Promise<string> {
  const path = (name: string) => fileURLToPath(new URL(name, FOLDER));
  const entries = packageEntries();
  const { outputFiles } = await build({
    entryPoints: [path('worker.ts')],
    alias: Object.fromEntries(
      entries.map(({ specifier, source }) => [specifier, path(`../../${source}`)]),
    ),
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2023',
    logLevel: 'error',
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error('esbuild wrote nothing');
  return output.text;
}

export interface Worker {
  /** Requests a route, with or without a key, and returns the parsed answer. */
  ask(route: string, key?: string): Promise<unknown>;
  stop(): Promise<void>;
}

/** Runs `worker.ts` in a new runtime with an empty database. */
export async function startWorker(compatibilityDate: string): Promise<Worker> {
  const script = await bundleWorker();
  const runtime = start({ script, compatibilityDate, d1Databases: { DB: 'db' } });

  async function ask(route: string, key?: string): Promise<unknown> {
    const init = key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } };
    const answer = await runtime.dispatchFetch(`http://worker${route}`, init);
    if (answer.status !== 200) throw new Error(`${route}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  return { ask, stop: () => runtime.dispose() };
}

// ── Databases ─────────────────────────────────────────────────────────────────────────────────

const DATABASES = Array.from({ length: 64 }, (_, i) => `DB${i}`);

/** Empty databases for a group of tests, in one runtime. D1 handles are called through a proxy. */
export function databases(): () => Promise<D1Client> {
  const left = [...DATABASES];
  let runtime: Miniflare;
  beforeAll(() => {
    const script = 'export default { fetch: () => new Response() }';
    const d1Databases = Object.fromEntries(DATABASES.map((name) => [name, name]));
    runtime = start({ script, compatibilityDate: RECENT_DATE, d1Databases });
  }, SLOW.timeout);
  afterAll(() => runtime.dispose());

  return async function fresh(): Promise<D1Client> {
    const name = left.pop();
    if (name === undefined) throw new Error('this group needs more databases');
    return runtime.getD1Database(name);
  };
}

type Row = Readonly<Record<string, unknown>>;

/** Runs SQL as its owner. */
export type Sql = (sql: string) => Promise<readonly Row[]>;

export function sqlOf(db: D1Client): Sql {
  return async (sql) => {
    const { results } = await db.prepare(sql).all();
    return results as readonly Row[];
  };
}
