/**
 * A Worker with its keys in D1, for `test/servers/sqlite/d1/worker.test.ts`: the path says what to
 * do, and the answer is JSON. One store serves the isolate for its whole life, as in a real
 * service.
 */
import {
  createKeyring,
  defineScopes,
  digestBackend,
  isAccessError,
  isStoreError,
  type KeyringOptions,
} from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import type { D1Client, D1Statement } from 'keyscope/stores/d1';
import { d1Store, migrate } from 'keyscope/stores/d1';
import { storeContract } from 'keyscope/testing';

interface Env {
  readonly DB: D1Client;
}

const catalog = defineScopes({ threats: { read: 'List and read threats.' } });
const AUTHORITY = { entityId: '0a0a0a0a-0000-4000-8000-00000000000a', scopes: 'all' } as const;
const INPUT = { name: 'ci', scopes: ['threats:read'], expiresAt: 'never' } as const;
const PEPPERS = [{ id: 'p1', secret: 'first-pepper-first-pepper-first-pepper!' }];
const HELD_MS = 300;

// ── Stores ────────────────────────────────────────────────────────────────────────────────────

type Store = KeyringOptions<typeof catalog>['store'];

/** Answers late, so that requests arrive during a look-up. */
function slow(db: D1Client): D1Client {
  function slowStatement(inner: D1Statement): D1Statement {
    return {
      bind: (...values) => slowStatement(inner.bind(...values)),
      async all() {
        const answer = await inner.all();
        await new Promise((resolve) => setTimeout(resolve, HELD_MS));
        return answer;
      },
    };
  }
  return {
    prepare: (sql) => slowStatement(db.prepare(sql)),
    batch: (statements) => db.batch(statements),
  };
}

/** A minimal bounded cache. */
function smallCache() {
  const entries = new Map<string, object>();
  return {
    get: (name: string) => entries.get(name),
    set(name: string, entry: object) {
      if (entries.size < 1000) entries.set(name, entry);
    },
    delete: (name: string) => entries.delete(name),
  };
}

function cachedStore(db: D1Client): Store {
  return cacheStore(d1Store(db), { cache: smallCache(), maxStalenessMs: 10_000 });
}

// ── Keyrings ──────────────────────────────────────────────────────────────────────────────────

function keyringOver(store: Store) {
  // Longer than the default, so that nothing fails on a busy machine.
  return createKeyring({
    prefix: 'acme',
    catalog,
    store,
    peppers: PEPPERS,
    storeTimeoutMs: 20_000,
  });
}

type Keyring = ReturnType<typeof keyringOver>;

const keyrings = new Map<string, Keyring>();

/** The keyring with this name, created on first use. */
function memoized(name: string, makeStore: () => Store): Keyring {
  const keyring = keyrings.get(name) ?? keyringOver(makeStore());
  keyrings.set(name, keyring);
  return keyring;
}

// ── Operations ────────────────────────────────────────────────────────────────────────────────

/** The result of a call, or the reason for its failure. */
async function outcome(act: () => Promise<unknown>): Promise<unknown> {
  try {
    return (await act()) ?? 'done';
  } catch (error) {
    if (isAccessError(error)) return error.reason;
    if (isStoreError(error)) return `StoreError: ${error.message}`;
    return String(error);
  }
}

/** Issues, verifies, rotates and revokes a key. */
async function walk(keyring: Keyring): Promise<unknown> {
  const { key, info } = await keyring.issue(INPUT, AUTHORITY);
  const principal = await keyring.verify(key);
  const next = await keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
  const old = await outcome(() => keyring.verify(key));
  const successor = await keyring.verify(next.key);
  await keyring.revoke(next.info.keyId, AUTHORITY);
  const revoked = await outcome(() => keyring.verify(next.key));
  const { keys } = await keyring.list({}, AUTHORITY);
  return {
    digestBackend,
    passed: principal.keyId === info.keyId && successor.keyId === next.info.keyId,
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
  for (const [name, run] of tests) {
    await run().catch((error: unknown) => failed.push(`${name}: ${error}`));
  }
  return { tests: tests.length, failed };
}

/**
 * With `?leave` the request ends before its verification, and everything that it started ends with
 * it.
 */
function verify(keyring: Keyring, request: Request): Promise<unknown> {
  const verified = outcome(async () => (await keyring.authenticate(request)).via);
  return new URL(request.url).searchParams.has('leave') ? Promise.resolve('left') : verified;
}

async function issue(keyring: Keyring): Promise<unknown> {
  const { key } = await keyring.issue(INPUT, AUTHORITY);
  return key;
}

const ROUTES: Readonly<Record<string, (db: D1Client, request: Request) => Promise<unknown>>> = {
  '/walk': (db) => walk(memoized('plain', () => d1Store(db))),
  '/walk/cached': (db) => walk(memoized('cached', () => cachedStore(db))),
  '/contract': (db) => contract(() => d1Store(db)),
  '/contract/batch': (db) => contract(() => d1Store(db, { batch: true })),
  '/contract/cached': (db) => contract(() => cachedStore(db)),
  '/migrate': (db) => outcome(() => migrate(db)),
  '/issue': (db) => issue(memoized('plain', () => d1Store(db))),
  // Two separate stores: requests share a migration on one and a look-up on the other.
  '/verify/new': (db, request) =>
    verify(
      memoized('new', () => d1Store(slow(db))),
      request,
    ),
  '/verify/shared': (db, request) =>
    verify(
      memoized('shared', () => cachedStore(slow(db))),
      request,
    ),
};

// The runtime expects a default export.
// biome-ignore lint/style/noDefaultExport: see above
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const route = ROUTES[new URL(request.url).pathname];
    if (route === undefined) return new Response(null, { status: 404 });
    return Response.json(await route(env.DB, request));
  },
};
