/** Workers and D1 databases on this machine, in Cloudflare's runtime and with its SQLite. */
import { builtinModules, createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { D1Client } from 'keyscope/stores/d1';
import { afterAll, beforeAll, describe } from 'vitest';
import { packageEntries } from './package-entries.ts';

const { CI } = process.env;

/** The part of miniflare in use. It is installed only for these tests and has no types here. */
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
 * `describe` for tests that need workerd. Without it they are skipped by name; with `CI=true` they
 * fail.
 */
export const describeWithWorkerd: typeof describe.skip =
  constructorOf() !== undefined || CI === 'true' ? describe : describe.skip;

/** Calls through the proxy are slow, more so on a busy machine. */
export const SLOW = { timeout: 120_000 };

/** A date before requests could wait for each other's promises, and below a recent one. */
export const OLD_DATE = '2024-01-01';
export const RECENT_DATE = '2026-07-01';

function start(options: RuntimeOptions): Miniflare {
  const Runtime = constructorOf();
  if (Runtime === undefined) throw new Error('install test/workerd, as `npm run test:stores` does');
  return new Runtime({ modules: true, host: '127.0.0.1', port: 0, ...options });
}

// ── Workers ───────────────────────────────────────────────────────────────────────────────────

/** Lets bundled drivers load modules of Node. workerd has `process` only as a global. */
const REQUIRE = `
  import { builtinModules, createRequire } from 'node:module';
  const load = createRequire('/');
  const require = (name) => (/^(?:node:)?process$/.test(name) ? process : load(name));`;

/** Bundles TypeScript into one script. It may import from the folder of the Workers. */
async function bundle(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, loader: 'ts', resolveDir: fileURLToPath(FOLDER) },
    alias: Object.fromEntries(
      packageEntries().map(({ specifier, source }) => [
        specifier,
        fileURLToPath(new URL(`../../${source}`, FOLDER)),
      ]),
    ),
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2023',
    conditions: ['workerd'],
    mainFields: ['module', 'main'],
    external: [...builtinModules, 'node:*', 'cloudflare:*', 'pg-native'],
    logLevel: 'error',
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error('esbuild wrote nothing');
  return output.text;
}

const ofFile = (name: string) => `export { default } from './${name}';`;

export interface Worker {
  /** Requests a route, with a key if given, and reads the answer. */
  ask(route: string, key?: string): Promise<unknown>;
  stop(): Promise<void>;
}

function workerOf(runtime: Miniflare): Worker {
  async function ask(route: string, key?: string): Promise<unknown> {
    const init = key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } };
    const answer = await runtime.dispatchFetch(`http://worker${route}`, init);
    if (answer.status !== 200) throw new Error(`${route}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  return { ask, stop: () => runtime.dispose() };
}

/** Starts `worker.ts` in a separate runtime with an empty database. */
export async function startWorker(compatibilityDate: string): Promise<Worker> {
  const script = await bundle(ofFile('worker.ts'));
  return workerOf(start({ script, compatibilityDate, d1Databases: { DB: 'db' } }));
}

/**
 * Starts a Worker that has drivers: `drivers.ts`, or the text of another. It has a local Hyperdrive
 * for the PostgreSQL server, which caches nothing.
 */
export async function startDriverWorker(
  postgres: string,
  bindings: Readonly<Record<string, string>> = {},
  text: string = ofFile('drivers.ts'),
): Promise<Worker> {
  const contents = REQUIRE + (await bundle(text));
  const address = new URL(postgres);
  // The binding requires one, and a server that trusts the address ignores it.
  address.password ||= 'unused';
  const runtime = start({
    modules: [{ type: 'ESModule', path: 'worker.mjs', contents }],
    compatibilityDate: RECENT_DATE,
    compatibilityFlags: ['nodejs_compat'],
    hyperdrives: { HYPERDRIVE: address.href },
    bindings,
  });
  return workerOf(runtime);
}

// ── Databases ─────────────────────────────────────────────────────────────────────────────────

const DATABASES = Array.from({ length: 64 }, (_, i) => `DB${i}`);

/** Makes empty databases for a group of tests, in one runtime, with D1 handles through a proxy. */
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

/** Runs SQL as the owner of the database. */
export type Sql = (sql: string) => Promise<readonly Row[]>;

export function sqlOf(db: D1Client): Sql {
  return async (sql) => {
    const { results } = await db.prepare(sql).all();
    return results as readonly Row[];
  };
}
