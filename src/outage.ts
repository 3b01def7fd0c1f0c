/**
 * A store or a clock that breaks. Whatever a store throws, rejects with, never answers or answers in the wrong
 * shape becomes a `StoreError`: 503 and fail closed, never "bad key".
 */
import type { Clock } from './context.js';
import { StoreError } from './errors.js';
import { expect } from './input.js';
import type { KeyStore, SchemeSummary } from './store.js';

/** The time; throws rather than answer with what no deadline can be compared to. */
export function readClock(now: Clock): number {
  const time = now();
  // What a `Date` can hold (ECMA-262 §21.4.1.1).
  if (!Number.isFinite(time) || Math.abs(time) > 8.64e15) throw new StoreError('the clock did not answer milliseconds');
  return Math.floor(time);
}

const isSummary = (row: SchemeSummary | null) =>
  typeof row?.scheme === 'string' && [row.live, row.lastUsedAt ?? 0].every(Number.isSafeInteger);

/** Every method, and whether an answer has its shape. What stands in a record is for `readRecord` to say. */
// biome-ignore format: writes, then reads
const ANSWERS: Readonly<Record<keyof KeyStore, (answer: unknown, argument: unknown) => boolean>> = {
  insert: (answer) => answer !== false, markEnded: (wrote) => typeof wrote === 'boolean', touch: () => true,
  findByDigest: (rows) => Array.isArray(rows) && rows.findIndex((row) => Object(row) !== row) === -1,
  findById: (row, keyId) => row === null || Object(row).keyId === keyId,
  list: Array.isArray, summarize: (rows) => Array.isArray(rows) && rows.every(isSummary),
};

/**
 * The user's store as the operations see it: errors wrapped, answers awaited for at most `timeoutMs` and their
 * shape checked. A synchronous answer stays synchronous; every other becomes a native `Promise`.
 *
 * What a write did that timed out is unknown.
 */
export function guardStore(store: unknown, timeoutMs: number): KeyStore {
  const methods = store as Readonly<Record<string, (...args: unknown[]) => unknown>> | null | undefined;
  const guarded = Object.entries(ANSWERS).map(([name, holds]) => {
    const method = methods?.[name];
    expect(typeof method === 'function', `store: pass an object with the method ${name}; await a promise of one`);
    const broken = (how: string, cause?: unknown) => new StoreError(`store.${name} ${how}`, cause);
    const read = (answer: unknown, argument: unknown) => {
      if (!holds(answer, argument)) throw broken('broke its contract; see KeyStore');
      return answer;
    };
    const readInTime = (answer: unknown, argument: unknown) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(broken(`did not answer within ${timeoutMs} ms`)), timeoutMs);
        const settled = Promise.resolve(answer).then(resolve, (cause) => reject(broken('failed: see cause', cause)));
        settled.finally(() => clearTimeout(timer));
      }).then((value) => read(value, argument));
    const ask = (argument: unknown, second: unknown) => {
      let answer: unknown;
      try {
        answer = method.call(store, argument, second);
        if (typeof Object(answer).then === 'function') return readInTime(answer, argument);
      } catch (cause) {
        throw broken('failed: see cause', cause);
      }
      return read(answer, argument);
    };
    return [name, ask];
  });
  return Object.fromEntries(guarded);
}
