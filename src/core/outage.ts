/**
 * Guards against a broken store or clock. If it throws or rejects, does not answer, or answers in
 * the wrong shape, that becomes a `StoreError`: 503 and fail closed, never "bad key".
 */
import { StoreError } from './errors.js';
import { assert } from './input.js';
import type { KeyStore } from './store.js';
import { isThenable } from './thenable.js';

// ── The clock ───────────────────────────────────────────────────────────────────────────────────

/** Milliseconds since the epoch. */
export type Clock = () => number;

/** What a `Date` can hold (ECMA-262 §21.4.1.1). */
const MAX_TIME = 8.64e15;

/** Returns the time; throws if it is not a valid time. */
export function readClock(now: Clock): number {
  try {
    const time = now();
    if (Number.isFinite(time) && Math.abs(time) <= MAX_TIME) return Math.floor(time);
    throw new TypeError('now: return milliseconds since the epoch');
  } catch (cause) {
    throw new StoreError('the clock failed: see cause', cause);
  }
}

// ── The store ───────────────────────────────────────────────────────────────────────────────────

type Method = keyof KeyStore;
type Call = (argument: unknown, second: unknown) => unknown;
type HasShape = (answer: unknown, argument: unknown) => boolean;

/** Whether a method's answer has the right shape. `readRecord` checks the content of records. */
const ANSWERS: Readonly<Record<Method, HasShape>> = {
  insert: (answer) => answer !== false,
  markEnded: (wrote) => typeof wrote === 'boolean',
  touch: () => true,
  findByDigest: (rows) => Array.isArray(rows) && rows.findIndex((row) => !isRow(row)) === -1,
  findById: (row, keyId) => row === null || (isRow(row) && row.keyId === keyId),
  list: (rows) => Array.isArray(rows),
  summarize: (rows) => Array.isArray(rows) && rows.every(isSummary),
};

function isRow(value: unknown): value is { readonly keyId?: unknown } {
  return typeof value === 'object' && value !== null;
}

function isSummary(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { scheme, live, lastUsedAt } = value as Readonly<Record<string, unknown>>;
  const used = lastUsedAt ?? 0;
  return typeof scheme === 'string' && Number.isSafeInteger(live) && Number.isSafeInteger(used);
}

/**
 * The user's store as the operations see it: errors are wrapped, answers are awaited for at most
 * `timeoutMs`, and their shape is checked. A synchronous answer stays synchronous; any other
 * becomes a native `Promise`.
 *
 * If a write timed out, it is unknown whether it took effect.
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
  const instead = `store: pass an object with the method ${name}; await a promise of one`;
  assert(typeof method === 'function', instead);

  return (argument, second) => {
    let answer: unknown;
    let isLater: boolean;
    try {
      answer = method.call(store, argument, second);
      isLater = isThenable(answer);
    } catch (cause) {
      throw storeFailed(name, cause);
    }
    if (!isLater) return readAnswer(name, answer, argument);
    return answerInTime(name, answer, timeoutMs).then((settled) =>
      readAnswer(name, settled, argument),
    );
  };
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

function answerInTime(name: Method, answer: unknown, timeoutMs: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onTimeout = () =>
      reject(new StoreError(`store.${name} did not answer within ${timeoutMs} ms`));
    const timer = setTimeout(onTimeout, timeoutMs);
    const settled = Promise.resolve(answer).then(resolve, (cause: unknown) => {
      reject(storeFailed(name, cause));
    });
    void settled.finally(() => clearTimeout(timer));
  });
}

function storeFailed(name: Method, cause: unknown): StoreError {
  return new StoreError(`store.${name} failed: see cause`, cause);
}
