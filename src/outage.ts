/**
 * A store or a clock that breaks. Whatever a store throws, rejects with, never answers or answers in the wrong
 * shape becomes a `StoreError`: 503 and fail closed, never "bad key".
 */
import { StoreError } from './errors.js';
import { expect } from './input.js';
import type { KeyRecord } from './record.js';
import { readRecord } from './record.js';
import type { Awaitable, KeyStore } from './store.js';

/** Milliseconds since the epoch. Injected in tests. */
export type Clock = () => number;

/** A clock that throws rather than answer with what no deadline can be compared to. */
export function guardClock(now: Clock): Clock {
  return () => {
    const time: unknown = now();
    if (!Number.isSafeInteger(time)) throw new StoreError('the clock did not answer whole milliseconds');
    return time as number;
  };
}

export const isPromise = <T>(value: Awaitable<T>): value is PromiseLike<T> =>
  typeof value === 'object' && value !== null && typeof (value as PromiseLike<T>).then === 'function';

const METHODS = ['insert', 'findByDigest', 'findById', 'list', 'markEnded', 'touch', 'summarize'] as const;

/**
 * The user's store as the operations see it: errors wrapped, answers awaited for at most `timeoutMs`, their
 * shape checked and their records frozen. A synchronous answer stays synchronous.
 *
 * Not checked: `findByDigest`'s rows, which `verify` reads itself. What a write did that timed out is unknown.
 */
export function guardStore(store: KeyStore, timeoutMs: number): KeyStore {
  const complete =
    typeof store === 'object' && store !== null && METHODS.every((name) => typeof store[name] === 'function');
  expect(complete, `store: pass an object with the methods ${METHODS.join(', ')}`);

  function ask<T>(name: string, call: () => Awaitable<unknown>, read: (answer: unknown) => T): Awaitable<T> {
    let answer: Awaitable<unknown>;
    try {
      answer = call();
    } catch (cause) {
      throw new StoreError(`store.${name} failed`, cause);
    }
    if (!isPromise(answer)) return read(answer);
    return inTime(answer, timeoutMs, name).then(read);
  }

  const written = () => undefined;
  return {
    insert: (record) => ask('insert', () => store.insert(record), written),
    findByDigest: (digests) =>
      ask(
        'findByDigest',
        () => store.findByDigest(digests),
        (rows) => list('findByDigest', rows),
      ),
    findById: (keyId) =>
      ask(
        'findById',
        () => store.findById(keyId),
        (row) => {
          const found = row === null ? null : readable('findById', row);
          if (found !== null && found.keyId !== keyId) throw broken('findById');
          return found;
        },
      ),
    list: (query) =>
      ask(
        'list',
        () => store.list(query),
        (rows) => list('list', rows).map((row) => readable('list', row)),
      ),
    markEnded: (keyId, ending) =>
      ask(
        'markEnded',
        () => store.markEnded(keyId, ending),
        (wrote) => {
          if (typeof wrote !== 'boolean') throw broken('markEnded');
          return wrote;
        },
      ),
    touch: (entries) => ask('touch', () => store.touch(entries), written),
    summarize: (now) =>
      ask(
        'summarize',
        () => store.summarize(now),
        (rows) => list('summarize', rows),
      ),
  };
}

const broken = (name: string) => new StoreError(`store.${name} broke its contract: see KeyStore.${name}`);

function list<T>(name: string, rows: unknown): readonly T[] {
  if (!Array.isArray(rows)) throw broken(name);
  return rows;
}

function readable(name: string, row: unknown): KeyRecord {
  const record = readRecord(row);
  if (record === null) throw broken(name);
  return record;
}

function inTime(answer: PromiseLike<unknown>, timeoutMs: number, name: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new StoreError(`store.${name} did not answer within ${timeoutMs} ms`));
    const timer = setTimeout(late, timeoutMs);
    const settle = (act: () => void) => {
      clearTimeout(timer);
      act();
    };
    answer.then(
      (value) => settle(() => resolve(value)),
      (cause) => settle(() => reject(new StoreError(`store.${name} failed`, cause))),
    );
  });
}
