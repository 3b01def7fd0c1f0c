/** Starts a store before its first use, and retries if that fails. */
import type { Awaitable, KeyStore } from '../core/store.js';
import type { Reads } from './reads.js';
import type { Writes } from './writes.js';

/** How long callers wait for one attempt to start before they begin another. */
const WAIT_MS = 5_000;

/** An attempt to start. */
interface Attempt<T> {
  readonly result: Promise<T>;
  /** How long others wait for it, by `performance.now()`; infinite once it has succeeded. */
  waitUntil: number;
}

/**
 * Makes a function that runs `start` before the first use, and never again after a success. If an
 * attempt fails or never settles, as on a half-open connection, a later use tries again, so the
 * store recovers when the server does. Two attempts may overlap.
 */
export function startOnce<T>(start: () => Promise<T>): () => Promise<T> {
  let current: Attempt<T> | undefined;

  function begin(): Promise<T> {
    const result = start();
    const attempt = { result, waitUntil: performance.now() + WAIT_MS };
    current = attempt;
    result.then(
      () => {
        // Even if a later attempt is in progress: one success is enough.
        attempt.waitUntil = Number.POSITIVE_INFINITY;
        current = attempt;
      },
      () => {
        if (current === attempt) current = undefined;
      },
    );
    return result;
  }

  return () => {
    if (current !== undefined && performance.now() < current.waitUntil) return current.result;
    return begin();
  };
}

type Method = (...args: never[]) => Awaitable<unknown>;

/** Makes a store whose methods wait for `ready`. Our stores have the optional methods, too. */
export function afterStart(
  ready: () => Promise<unknown>,
  methods: Reads & Writes,
  isInProcess: boolean = false,
): Required<KeyStore> {
  const all = Object.entries<Method>({ ...methods });
  const waiting = all.map(([name, method]) => [name, waitBefore(ready, method)]);
  return { ...(Object.fromEntries(waiting) as unknown as Reads & Writes), isInProcess };
}

/** Makes a method wait for `ready` until that has succeeded once. */
function waitBefore(ready: () => Promise<unknown>, method: Method): Method {
  let isReady = false;
  async function waiting(...args: never[]): Promise<unknown> {
    if (!isReady) await ready();
    isReady = true;
    return method(...args);
  }
  // Keeps the number of parameters, which tells `storeContract` whether `summarize` accepts a time.
  return Object.defineProperty(waiting, 'length', { value: method.length });
}

// ── Read-only mode of the command ────────────────────────────────────────────────────────────────

/** On `globalThis`, because the command's config may import another copy of the package. */
const ONLY_LOOKS = Symbol.for('keyscope.onlyLooks');

/** The error if tables would have to be created or changed. */
export const NOT_MIGRATED: string =
  'keyscope: the tables are missing, or from an older release. Run `keyscope migrate`';

/** Stops all stores of this process from creating or changing tables on their own. */
export function onlyLook(): void {
  Object.defineProperty(globalThis, ONLY_LOOKS, { value: true });
}

/** Checks whether stores must leave tables alone. */
export function isOnlyLooking(): boolean {
  return Object.hasOwn(globalThis, ONLY_LOOKS);
}

/** Throws if stores must not create or change tables. */
export function assertMayMigrate(): void {
  if (isOnlyLooking()) throw new Error(NOT_MIGRATED);
}
