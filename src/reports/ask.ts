/** Calls a store for a report, with the report's own time limit. */
import { StoreError } from '../core/errors.js';
import { assert, hasMethods, readInteger } from '../core/input.js';
import { answerInTime } from '../core/outage.js';
import type { Awaitable, CallOptions, KeyStore, Slice } from '../core/store.js';

/** The optional methods of a store that reports need. */
export type ReportMethod = 'summarize' | 'listExpiring';

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 3_600_000;

/** Reads the time limit of a report. */
export function readTimeout(timeoutMs: unknown = DEFAULT_TIMEOUT_MS): number {
  return readInteger(timeoutMs, 1, MAX_TIMEOUT_MS, 'timeoutMs');
}

/** A store that has the method. */
export type Offering<Method extends ReportMethod> = KeyStore & Required<Pick<KeyStore, Method>>;

/** Throws a `TypeError` if the store does not have the method. */
export function requireMethod<Method extends ReportMethod>(
  store: KeyStore,
  method: Method,
  report: string,
): Offering<Method> {
  const instead = `${report}: this store lacks the optional method ${method}; see KeyStore`;
  assert(hasMethods(store, method), instead);
  return store as Offering<Method>;
}

/**
 * Runs a report. If it takes too long, aborts the signal and rejects with `StoreError`.
 *
 * @param run Makes every call to the store through {@link ask}.
 */
export function withinTime<T>(
  report: string,
  timeoutMs: number,
  run: (call: CallOptions) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const { signal } = controller;
  // A report is about now, and a cache may be behind.
  const reading = run({ signal, fresh: true });
  return answerInTime(`${report}: the store`, reading, timeoutMs, () => controller.abort());
}

/** Calls the store once. Its errors, and answers of the wrong shape, become a `StoreError`. */
export async function ask<T>(
  method: ReportMethod,
  call: () => Awaitable<T>,
  hasShape: (answer: unknown) => boolean,
): Promise<T> {
  let answer: T;
  let isSound: boolean;
  try {
    answer = await call();
    isSound = hasShape(answer);
  } catch (cause) {
    throw new StoreError(`store.${method} failed: see causeOf`, cause);
  }
  if (!isSound) throw new StoreError(`store.${method} broke its contract; see KeyStore`);
  return answer;
}

/** Reads the part of a listing after a position; null for the first part. */
export type ReadPart<T> = (after: string | null) => Awaitable<Slice<T>>;

/**
 * Reads a listing part by part.
 *
 * @throws StoreError if a part leads back to an earlier one, because that listing would never end.
 */
export async function* partsOf<T>(method: string, read: ReadPart<T>): AsyncGenerator<readonly T[]> {
  const known = new Set<string>();
  let after: string | null = null;
  do {
    const { items, next }: Slice<T> = await read(after);
    yield items;
    const isKnown = next !== null && known.has(next);
    if (isKnown) throw new StoreError(`store.${method} returned the same part again`);
    known.add(String(next));
    after = next;
  } while (after !== null);
}
