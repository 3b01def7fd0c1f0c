/** Asks a store on behalf of a report, which ends after a time of its own. */
import { StoreError } from '../../core/errors.js';
import { assert, hasMethods, readInteger } from '../../core/input.js';
import { answerInTime } from '../../core/outage.js';
import type { Awaitable, CallOptions, KeyStore, Slice } from '../../core/store.js';

/** The methods that reports need and that a store may lack. */
export type ReportMethod = 'summarize' | 'listExpiring';

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 3_600_000;

/** Reads how long a report may take. */
export function readTimeout(timeoutMs: unknown = DEFAULT_TIMEOUT_MS): number {
  return readInteger(timeoutMs, 1, MAX_TIMEOUT_MS, 'timeoutMs');
}

/** A store that has one of the methods. */
export type Offering<Method extends ReportMethod> = KeyStore & Required<Pick<KeyStore, Method>>;

/** Throws a `TypeError` if the store does not offer a method. */
export function requireMethod<Method extends ReportMethod>(
  store: KeyStore,
  method: Method,
  report: string,
): Offering<Method> {
  const instead = `${report}: this store does not offer ${method}, which is optional in KeyStore`;
  assert(hasMethods(store, method), instead);
  return store as Offering<Method>;
}

/**
 * Runs a report, and rejects with `StoreError` if it takes too long; then the signal is aborted.
 *
 * @param run Awaits every call of the store through {@link ask}.
 */
export function withinTime<T>(
  report: string,
  timeoutMs: number,
  run: (call: CallOptions) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const { signal } = controller;
  // A report is about now: a cache would answer about a moment ago.
  const reading = run({ signal, fresh: true });
  return answerInTime(`${report}: the store`, reading, timeoutMs, () => controller.abort());
}

/**
 * Asks the store once. Its errors become a `StoreError`, and so does an answer of another shape.
 */
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

/** Reads the part of a listing that `after` leads to; null for the first. */
export type ReadPart<T> = (after: string | null) => Awaitable<Slice<T>>;

/**
 * Goes through a listing part by part.
 *
 * @throws StoreError where a part leads back to one before it: that listing would never end.
 */
export async function* partsOf<T>(method: string, read: ReadPart<T>): AsyncGenerator<readonly T[]> {
  const known = new Set<string>();
  let after: string | null = null;
  do {
    const { items, next }: Slice<T> = await read(after);
    yield items;
    const isKnown = next !== null && known.has(next);
    if (isKnown) throw new StoreError(`store.${method} answers the same part again`);
    known.add(String(next));
    after = next;
  } while (after !== null);
}
