/**
 * A child process on any store that an address names: `store-child.ts [address]`. It performs the
 * tasks that it reads line by line, without waiting for earlier ones. It reports each store call
 * before and after it, so that a test can kill it at any moment in between. In: `[id, task, …]`.
 * Out: `[id, answer]` for each, and `[null, what, moment]` for what happens meanwhile.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { writeSync } from 'node:fs';
import { createRequire, flushCompileCache } from 'node:module';
import { createInterface } from 'node:readline';
import type { KeyStore, Mark } from 'keyscope';
import { isAccessError } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { sqliteStore } from 'keyscope/stores/sqlite';
import type { OpenedStore } from '../../examples/platform/host/open-store.ts';
import { openStore } from '../../examples/platform/host/open-store.ts';
import { PLAIN } from './keyring.ts';
import { keyringOver, type PatientKeyring } from './patient-keyring.ts';
import type { Handle } from './sqlite.ts';
import type { Handed } from './store-process.ts';
import { fillLineage, requireDead, serveKeys, Thief } from './thief.ts';

// Synchronous and unbuffered, so that every report is in the pipe when the process is killed.
function say(...words: readonly unknown[]): void {
  writeSync(1, `${JSON.stringify(words)}\n`);
}

// ── Moments ──────────────────────────────────────────────────────────────────────────────────────

let announcing = false;
let stopAt: number | undefined;
let heard = 0;

/** Reports a moment. If it is the moment to stop at, does nothing more until it is killed. */
function moment(what: string, when: string): void {
  if (!announcing) return;
  say(null, what, when);
  heard += 1;
  if (heard === stopAt) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

/**
 * The times at which a task's first `mark` started and was answered, by a clock that all processes
 * of a machine share.
 */
interface WriteTimes {
  from?: number;
  to?: number;
}

const writes = new AsyncLocalStorage<WriteTimes>();
const clock = () => Number(process.hrtime.bigint());

const turn = () => new Promise((resolve) => setImmediate(resolve));

type Method = (...args: never[]) => unknown;

/**
 * Lets others run between any two calls, even if the store answers at once, so that tasks overlap.
 */
function watched(store: KeyStore): KeyStore {
  const methods = Object.entries(store).map(([name, method]: [string, Method]) => [
    name,
    watchedMethod(name, method),
  ]);
  return Object.fromEntries(methods) as KeyStore;
}

function watchedMethod(name: string, method: Method): Method {
  return async (...args) => {
    await turn();
    moment(name, 'before');
    const times = name === 'mark' ? writes.getStore() : undefined;
    if (times) times.from ??= clock();
    const answer = method(...args);
    if (announcing && answer instanceof Promise) {
      // The request has been sent, and its answer has not arrived.
      await turn();
      moment(name, 'during');
    }
    const value = await answer;
    if (times) times.to ??= clock();
    moment(name, 'after');
    return value;
  };
}

// ── Tasks ────────────────────────────────────────────────────────────────────────────────────────

/** Opens the stores of the platform, and one more SQLite driver. */
async function open(address: string): Promise<OpenedStore> {
  if (address === 'memory:') return { store: memoryStore(), close: async () => {} };
  if (!address.startsWith('better-sqlite3:')) return openStore(address);
  const load = createRequire(import.meta.url);
  const Database = load('better-sqlite3') as new (path: string) => Handle;
  const db = new Database(address.slice('better-sqlite3:'.length));
  return { store: sqliteStore(db), close: async () => db.close() };
}

interface Opened extends OpenedStore {
  /** The store, which reports its calls. */
  readonly watched: KeyStore;
  /** A keyring over it. */
  readonly keyring: PatientKeyring;
}

let opened: Opened | undefined;

function current(): Opened {
  if (opened === undefined) throw new Error('open a store first');
  return opened;
}

/** Opens a store and makes its tables, instead of the previous one. */
async function use(address: string): Promise<string> {
  const { store, close } = await open(address);
  await store.findById('00000000-0000-4000-8000-000000000000');
  await opened?.close();
  const spy = watched(store);
  opened = { store, close, watched: spy, keyring: keyringOver(spy) };
  return 'opened';
}

let thief: Thief | undefined;

const TASKS: Readonly<Record<string, (...given: never[]) => unknown>> = {
  open: use,

  /** Starts to report moments. The process stops at the `n`-th, if `n` is given. */
  announce(n?: number) {
    announcing = true;
    heard = 0;
    stopAt = n;
    return 'announcing';
  },

  async issue(entityId: string) {
    const { key, info } = await current().keyring.issue(PLAIN, { entityId, scopes: 'all' });
    moment('issue', 'made');
    return { keyId: info.keyId, key };
  },

  async rotate(entityId: string, keyId: string, overlapMs: number) {
    const by = { entityId, scopes: 'all' } as const;
    const { key, info } = await current().keyring.rotate(keyId, { overlapMs }, by);
    moment('rotate', 'made');
    return { keyId: info.keyId, key, from: writes.getStore()?.from };
  },

  /**
   * Waits for some look-ups first: a rotation writes at its third call, and a revocation would
   * always be first.
   */
  async revoke(entityId: string, keyId: string, lookUps = 0) {
    const ring = current().keyring;
    for (let i = 0; i < lookUps; i++) await ring.get(keyId, { entityId });
    await ring.revoke(keyId, { entityId });
    moment('revoke', 'made');
    return { revoked: true, to: writes.getStore()?.to };
  },

  // ── A thief and his victim ─────────────────────────────────────────────────────────────────────

  serve: () => serveKeys(current().keyring),
  fill: (...[entityId, keyId, count]: [string, string, number]) =>
    fillLineage(current().keyring, entityId, keyId, count),

  async revokeLineage(entityId: string, keyId: string) {
    const begun = performance.now();
    const ended = await current().keyring.revokeLineage(keyId, { entityId });
    return { ended: ended.length, ms: performance.now() - begun };
  },

  async requireDead(keys: readonly string[]) {
    await requireDead(current().keyring, keys);
    return 'dead';
  },

  async steal(url: string, stolen: Handed, connections: number) {
    thief = new Thief(url, stolen);
    await thief.begin(connections);
    return 'stealing';
  },

  loot: () => thief?.end(),

  /** Makes one write that bypasses the keyring, and returns the store's answer and the times. */
  async mark(keyId: string, mark: Mark) {
    const wrote = await current().watched.mark(keyId, mark);
    return { wrote, ...writes.getStore() };
  },
};

type Asked = readonly [id: number, task: string, ...given: never[]];

async function perform([id, task, ...given]: Asked): Promise<void> {
  try {
    say(id, await writes.run({}, () => TASKS[task]?.(...given)));
  } catch (error) {
    say(id, isAccessError(error) ? error.code : String(error));
  }
  if (task !== 'announce') moment(task, 'said');
}

const [address] = process.argv.slice(2);
if (address !== undefined) await use(address);
// A killed process writes no compile cache; without a cache this does nothing.
flushCompileCache();
say(null, 'process', 'ready');
for await (const line of createInterface({ input: process.stdin })) {
  void perform(JSON.parse(line) as Asked);
}
await opened?.close();
