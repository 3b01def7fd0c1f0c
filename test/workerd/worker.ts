/**
 * A Worker with its keys in D1, for `test/servers/d1.test.ts`: the path says what to do, and the
 * answer is JSON. One store for the life of the isolate, as a service would have it.
 */
import { createKeyring, defineScopes, digestBackend, isAccessError, isStoreError } from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import type { D1Client } from 'keyscope/stores/d1';
import { d1Store, migrate } from 'keyscope/stores/d1';
import { storeContract } from 'keyscope/testing';

interface Env {
  readonly DB: D1Client;
}

const catalog = defineScopes({ threats: { read: 'List and read threats.' } });
const AUTHORITY = { entityUuid: '0a0a0a0a-0000-4000-8000-00000000000a' };
const INPUT = { name: 'ci', scopes: ['threats:read'], expiresAt: 'never' } as const;
const PEPPERS = [{ id: 'p1', secret: 'first-pepper-first-pepper-first-pepper!' }];
const HELD_MS = 300;

/** Answers late, so that requests meet while a look-up is under way. */
function slow(db: D1Client): D1Client {
  const statement = (inner: ReturnType<D1Client['prepare']>): ReturnType<D1Client['prepare']> => ({
    bind: (...values) => statement(inner.bind(...values)),
    async all() {
      const answer = await inner.all();
      await new Promise((resolve) => setTimeout(resolve, HELD_MS));
      return answer;
    },
  });
  return {
    prepare: (sql) => statement(db.prepare(sql)),
    batch: (statements) => db.batch(statements),
  };
}

type Ring = ReturnType<typeof keyringOver>;
const keyringOver = (store: Parameters<typeof createKeyring>[0]['store']) =>
  createKeyring({ prefix: 'acme', catalog, store, peppers: PEPPERS });

const rings = new Map<string, Ring>();
function once(name: string, make: () => Ring): Ring {
  const ring = rings.get(name) ?? make();
  rings.set(name, ring);
  return ring;
}

/** What came of it: who passed, or why not. */
async function outcome(act: () => Promise<unknown>): Promise<unknown> {
  try {
    return (await act()) ?? 'done';
  } catch (error) {
    return isAccessError(error)
      ? error.reason
      : isStoreError(error)
        ? `StoreError: ${error.message}`
        : String(error);
  }
}

/** Issue, verify, rotate and revoke. */
async function walk(keyring: Ring): Promise<unknown> {
  const { key, info } = await keyring.issue(INPUT, AUTHORITY);
  const principal = await keyring.verify(key);
  const next = await keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
  const old = await outcome(() => keyring.verify(key));
  const successor = await keyring.verify(next.key);
  await keyring.revoke(next.info.keyId, AUTHORITY);
  const revoked = await outcome(() => keyring.verify(next.key));
  const { keys } = await keyring.list({}, AUTHORITY);
  const passed = principal.keyId === info.keyId && successor.keyId === next.info.keyId;
  return {
    digestBackend,
    passed,
    old,
    revoked,
    keys: keys.length,
    json: JSON.stringify(next).includes(next.key),
  };
}

async function contract(factory: Parameters<typeof storeContract>[1]): Promise<unknown> {
  const tests: [string, () => Promise<void>][] = [];
  storeContract((name, run) => tests.push([name, run]), factory);
  const failed: string[] = [];
  for (const [name, run] of tests)
    await run().catch((error: unknown) => failed.push(`${name}: ${error}`));
  return { tests: tests.length, failed };
}

/** Enough of a bounded cache. */
function smallCache() {
  const entries = new Map<string, object>();
  const set = (name: string, entry: object) =>
    (entries.size < 1000 ? entries : new Map()).set(name, entry);
  return {
    get: (name: string) => entries.get(name),
    set,
    delete: (name: string) => entries.delete(name),
  };
}

const cached = (db: D1Client) =>
  cacheStore(d1Store(db), { cache: smallCache(), maxStalenessMs: 10_000 });

const ROUTES: Readonly<Record<string, (env: Env, request: Request) => Promise<unknown>>> = {
  '/walk': ({ DB }) => walk(once('plain', () => keyringOver(d1Store(DB)))),
  '/walk/cached': ({ DB }) => walk(once('cached', () => keyringOver(cached(DB)))),
  '/contract': ({ DB }) => contract(() => d1Store(DB)),
  '/contract/batch': ({ DB }) => contract(() => d1Store(DB, { batch: true })),
  '/contract/cached': ({ DB }) => contract(() => cached(DB)),
  '/migrate': ({ DB }) => outcome(() => migrate(DB)),
  '/issue': async ({ DB }) =>
    (await once('plain', () => keyringOver(d1Store(DB))).issue(INPUT, AUTHORITY)).key,
  // Two stores of their own: one on which requests meet in the migration, one on which they meet in
  // a look-up.
  '/verify/new': ({ DB }, request) =>
    verify(
      once('new', () => keyringOver(d1Store(slow(DB)))),
      request,
    ),
  '/verify/shared': ({ DB }, request) =>
    verify(
      once('shared', () => keyringOver(cached(slow(DB)))),
      request,
    ),
};

/**
 * With `?leave` the request is over before its verification: whatever it has asked for ends with
 * it.
 */
function verify(ring: Ring, request: Request): Promise<unknown> {
  const verified = outcome(async () => (await ring.authenticate(request)).via);
  return new URL(request.url).searchParams.has('leave') ? Promise.resolve('left') : verified;
}

// What a Worker exports is what the runtime asks for.
// biome-ignore lint/style/noDefaultExport: see above
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const route = ROUTES[new URL(request.url).pathname];
    return route === undefined
      ? new Response(null, { status: 404 })
      : Response.json(await route(env, request));
  },
};
