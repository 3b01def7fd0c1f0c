/**
 * Guards against a broken store or clock. If one throws, rejects, does not answer, or answers in
 * the wrong shape, the caller gets a `StoreError`: 503 and fail closed, never "bad key".
 */
import { StoreError } from './errors.js';
import { assert, MAX_TIME } from './input.js';
import type { CallOptions, KeyStore } from './store.js';
import { isThenable, within } from './thenable.js';

// ── The clock ───────────────────────────────────────────────────────────────────────────────────

/** Milliseconds since the epoch. */
export type Clock = () => number;

/** Asks `Date.now` at each use, so that a test's fake clock is seen. */
export const systemClock: Clock = () => Date.now();

/** Returns the time; throws a `StoreError` if the clock fails or returns an invalid time. */
export function readClock(now: Clock): number {
  try {
    const time = now();
    if (Number.isFinite(time) && Math.abs(time) <= MAX_TIME) return Math.floor(time);
    throw new TypeError('now: return milliseconds since the epoch');
  } catch (cause) {
    throw new StoreError('the clock failed: see causeOf', cause);
  }
}

// ── The store ───────────────────────────────────────────────────────────────────────────────────

type Method = 'insert' | 'findByDigest' | 'findById' | 'list' | 'listLineage' | 'mark' | 'touch';
type Call = (argument: unknown, second: unknown, third: unknown) => unknown;
type HasShape = (answer: unknown, argument: unknown) => boolean;

/** Checks the shape of each method's answer. `readRecord` checks the content of records. */
const ANSWERS: Readonly<Record<Method, HasShape>> = {
  insert: (answer) => answer !== false,
  findByDigest: areRows,
  findById: (row, keyId) => row === null || (isRow(row) && row.keyId === keyId),
  list: areRows,
  listLineage: areRows,
  mark: (wrote) => typeof wrote === 'boolean',
  touch: () => true,
};

function isRow(value: unknown): value is { readonly keyId?: unknown } {
  return typeof value === 'object' && value !== null;
}

/** Rejects holes too: in a copy they are `undefined`, but `every` would skip them. */
function areRows(rows: unknown): boolean {
  return Array.isArray(rows) && [...(rows as readonly unknown[])].every(isRow);
}

/**
 * Wraps the user's store for the operations. It wraps errors, checks the shape of answers and waits
 * for them at most `timeoutMs`; then it aborts the signal of the call. It waits for `touch` without
 * a limit. A synchronous answer stays synchronous; any other becomes a native `Promise`.
 *
 * If a write timed out, nobody knows whether it took effect.
 */
export function guardStore(store: unknown, timeoutMs: number): KeyStore {
  const methods = Object.keys(ANSWERS) as Method[];
  const guarded = methods.map((name): [Method, Call] => [
    name,
    guardMethod(store, name, timeoutMs),
  ]);
  return Object.fromEntries(guarded) as unknown as KeyStore;
}

function guardMethod(store: unknown, name: Method, timeoutMs: number): Call {
  const method: unknown = (store as Partial<KeyStore> | null | undefined)?.[name];
  const instead = `store: pass an object with the method ${name}, not a promise of one`;
  assert(typeof method === 'function', instead);
  // Only `mark` has two arguments before its options.
  const isMark = name === 'mark';

  return (argument, second, third) => {
    const options = (isMark ? third : second) as CallOptions | undefined;
    const call = new StoreCall(options?.fresh);
    let answer: unknown;
    let isLater: boolean;
    try {
      answer = isMark
        ? method.call(store, argument, second, call)
        : method.call(store, argument, call);
      isLater = isThenable(answer);
    } catch (cause) {
      throw storeFailed(name, cause);
    }
    if (!isLater) return readAnswer(name, answer, argument);
    const settled = Promise.resolve(answer).then(
      (value) => readAnswer(name, value, argument),
      (cause: unknown) => {
        throw storeFailed(name, cause);
      },
    );
    const inTime = answerInTime(`store.${name}`, settled, timeoutMs, () => call.abort());
    if (name !== 'touch') return inTime;
    // The usage writer waits for the real end, however late, before its next write.
    inTime.catch(() => {});
    return settled;
  };
}

/** The options of one call to the store. Makes the signal only if the store reads it. */
class StoreCall implements CallOptions {
  readonly fresh: boolean | undefined;
  #controller: AbortController | undefined;

  constructor(fresh: boolean | undefined) {
    this.fresh = fresh;
  }

  get signal(): AbortSignal {
    return this.#made().signal;
  }

  abort(): void {
    // Also makes the signal, so that a store that reads it later finds it aborted.
    this.#made().abort();
  }

  #made(): AbortController {
    this.#controller ??= new AbortController();
    return this.#controller;
  }
}

function readAnswer(name: Method, answer: unknown, argument: unknown): unknown {
  let hasShape: boolean;
  try {
    hasShape = ANSWERS[name](answer, argument);
  } catch (cause) {
    throw storeFailed(name, cause);
  }
  if (!hasShape) throw new StoreError(`store.${name} broke its contract; see KeyStore`);
  return answer;
}

/** Waits for at most `timeoutMs`; then calls `onTimeout` and rejects with a `StoreError`. */
export function answerInTime<T>(
  what: string,
  answer: Promise<T>,
  timeoutMs: number,
  onTimeout?: () => void,
): Promise<T> {
  return within(timeoutMs, answer, () => {
    onTimeout?.();
    throw new StoreError(`${what} did not answer within ${timeoutMs} ms`);
  });
}

function storeFailed(name: Method, cause: unknown): StoreError {
  return new StoreError(`store.${name} failed: see causeOf`, cause);
}
