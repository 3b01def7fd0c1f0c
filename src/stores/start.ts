/** Starts a store before its first use, and retries if that fails. */
import type { Awaitable, KeyStore } from '../core/store.js';
import type { Reads } from './reads.js';
import type { Writes } from './writes.js';

/** How long callers wait for an attempt to start before one of them begins another. */
const WAIT_MS = 5_000;

/** An attempt to start. */
interface Attempt<T> {
  readonly result: Promise<T>;
  /** How long others wait for it, by `performance.now()`; infinite once it has succeeded. */
  waitUntil: number;
}

/**
 * Runs `start` before the first use, and never again once it has succeeded. If it fails or never
 * settles, as on a half-open connection, a later use tries again, so that a server that was down is
 * used once it is up. Two attempts may overlap.
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

/** Makes a store whose methods wait for `ready`; our stores have the optional ones too. */
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
  // Keeps the number of parameters: `storeContract` uses it to tell whether `summarize` accepts a
  // time.
  return Object.defineProperty(waiting, 'length', { value: method.length });
}

// ── The command, which only looks ───────────────────────────────────────────────────────────────

/** On `globalThis`, because the command's config may import another copy of the package. */
const ONLY_LOOKS = Symbol.for('keyscope.onlyLooks');

/** The error where tables would have to be created or changed. */
export const NOT_MIGRATED: string =
  'keyscope: the tables are missing, or those of an older release: run `keyscope migrate`';

/** From now on, no store of this process creates or changes tables by itself. */
export function onlyLook(): void {
  Object.defineProperty(globalThis, ONLY_LOOKS, { value: true });
}

/** Whether stores leave tables as they are. */
export function isOnlyLooking(): boolean {
  return Object.hasOwn(globalThis, ONLY_LOOKS);
}

/** Throws where tables are not to be created or changed. */
export function assertMayMigrate(): void {
  if (isOnlyLooking()) throw new Error(NOT_MIGRATED);
}
