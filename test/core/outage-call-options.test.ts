/** The last argument of every store method: the signal of an abandoned call, and `fresh`. */
import type { CallOptions, KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { guardStore } from '../../src/core/outage.js';
import {
  METHODS,
  type Method,
  NOWHERE,
  OTHER,
  OWN,
  PLAIN,
  START,
  setUp,
  storeError,
} from '../support/keyring.ts';
import { OPERATIONS, WIDE } from '../support/outages.ts';
import { RECORD } from '../support/records.ts';

const TIMEOUT_MS = 50;
const LISTING = { prefix: 'acme', entityId: OWN, after: null, limit: 1 };
const LINEAGE = { rootKeyId: NOWHERE, after: null, limit: 1 };
const USE = { keyId: NOWHERE, lastUsedAt: START, scopesUsed: {} };

/** A call of each method, with options where the core passes some. */
const CALLS: Readonly<Record<Method, (store: KeyStore, options?: CallOptions) => unknown>> = {
  insert: (store, options) => store.insert(RECORD, options),
  findByDigest: (store, options) => store.findByDigest([RECORD.digest], options),
  findById: (store, options) => store.findById(NOWHERE, options),
  list: (store, options) => store.list(LISTING, options),
  listLineage: (store, options) => store.listLineage(LINEAGE, options),
  mark: (store, options) => store.mark(NOWHERE, { kind: 'resume', at: START }, options),
  touch: (store, options) => store.touch([USE], options),
};

/** The answer of each method if all is well. */
const ANSWERS: Readonly<Record<Method, unknown>> = {
  insert: undefined,
  findByDigest: [],
  findById: null,
  list: [],
  listLineage: [],
  mark: false,
  touch: undefined,
};

/** A guarded store whose methods note the options of each call and answer as given. */
function noting(answer: (method: Method, options: CallOptions) => unknown) {
  const noted: CallOptions[] = [];
  const methods = METHODS.map((method) => {
    const call = (...args: readonly unknown[]) => {
      const options = args.at(-1) as CallOptions;
      noted.push(options);
      return answer(method, options);
    };
    return [method, call];
  });
  const store = Object.fromEntries(methods) as KeyStore;
  return { store: guardStore(store, TIMEOUT_MS), noted };
}

const never = () => new Promise(() => {});

/** The result of a call that is never answered: only `touch` has none. */
async function unanswered(method: Method, store: KeyStore): Promise<string> {
  const call = async () => CALLS[method](store);
  if (method !== 'touch') return (await storeError(call)).message;
  void call();
  return `store.${method} did not answer within ${TIMEOUT_MS} ms`;
}

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe.each(METHODS)('the signal of %s', (method) => {
  it('is aborted at the time limit, and not before', async () => {
    vi.useFakeTimers();
    const aborted: unknown[] = [];
    const { store } = noting((_method, { signal }) => {
      signal?.addEventListener('abort', () => aborted.push(signal.aborted));
      return never();
    });
    const failed = unanswered(method, store);
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS - 1);
    expect(aborted).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(aborted).toEqual([true]);
    expect(await failed).toBe(`store.${method} did not answer within 50 ms`);
  });

  it('is aborted for a store that reads it only after the time limit', async () => {
    vi.useFakeTimers();
    const { store, noted } = noting(never);
    const failed = unanswered(method, store);
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS);
    await failed;
    expect(noted[0]?.signal?.aborted).toBe(true);
  });

  it.each<readonly [string, (method: Method) => unknown]>([
    ['answers synchronously', (asked) => ANSWERS[asked]],
    ['answers by promise', async (asked) => ANSWERS[asked]],
    ['rejects', () => Promise.reject(new Error('down'))],
    ['answers nonsense', async () => 'nonsense'],
  ])('is never aborted if the store %s', async (_how, answer) => {
    vi.useFakeTimers();
    const { store, noted } = noting((asked, { signal }) => {
      expect(signal?.aborted).toBe(false);
      return answer(asked);
    });
    await Promise.resolve(CALLS[method](store)).catch(() => {});
    await vi.advanceTimersByTimeAsync(10 * TIMEOUT_MS);
    expect(noted[0]?.signal?.aborted).toBe(false);
  });

  it('belongs to one call: another waiting call continues', async () => {
    vi.useFakeTimers();
    const { store, noted } = noting(never);
    const first = unanswered(method, store);
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS - 1);
    const second = unanswered(method, store);
    await vi.advanceTimersByTimeAsync(1);
    await first;
    expect(noted.map(({ signal }) => signal?.aborted)).toEqual([true, false]);
    expect(noted[0]?.signal).toBe(noted[0]?.signal);
    expect(noted[0]?.signal).not.toBe(noted[1]?.signal);
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS);
    await second;
    expect(noted[1]?.signal?.aborted).toBe(true);
  });

  // A controller costs more than a look-up in memory.
  it('is not made for a store that does not read it', async () => {
    const { AbortController: Real } = globalThis;
    let made = 0;
    class Counted extends Real {
      constructor() {
        super();
        made += 1;
      }
    }
    vi.stubGlobal('AbortController', Counted);
    try {
      const { store, noted } = noting((asked) => ANSWERS[asked]);
      await CALLS[method](store);
      expect(made).toBe(0);
      expect(noted[0]?.signal).toBeInstanceOf(AbortSignal);
      expect(made).toBe(1);
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it('comes with the `fresh` of the core', async () => {
    for (const fresh of [true, false, undefined]) {
      const { store, noted } = noting((asked) => ANSWERS[asked]);
      await CALLS[method](store, { fresh });
      expect(noted.map((options) => options.fresh)).toEqual([fresh]);
    }
    const { store, noted } = noting((asked) => ANSWERS[asked]);
    await CALLS[method](store);
    expect(noted[0]?.fresh).toBeUndefined();
  });
});

describe('a store whose call was aborted', () => {
  it('may fail: its error is dropped', async () => {
    vi.useFakeTimers();
    const { store } = noting((_method, { signal }) => {
      return new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(new Error('stopped h1.p1$00')));
      });
    });
    const failed = storeError(async () => store.findById(NOWHERE));
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS);
    const { message, cause } = await failed;
    expect([message, cause]).toEqual(['store.findById did not answer within 50 ms', undefined]);
  });

  it('may still answer: the answer is too late', async () => {
    vi.useFakeTimers();
    const { store } = noting((_method, { signal }) => {
      return new Promise((resolve) => {
        signal?.addEventListener('abort', () => resolve(null));
      });
    });
    const failed = storeError(async () => store.findById(NOWHERE));
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS);
    await failed;
  });
});

describe('a keyring', () => {
  // People who manage keys act on what they see, and could undo a newer state of a key.
  it('manages keys by fresh rows, and admits requests by rows that may be cached', async () => {
    const reads: Record<string, (boolean | undefined)[]> = {};
    for (const [name, operation] of Object.entries(OPERATIONS)) {
      const inner = memoryStore();
      const prepared = setUp({ store: inner }).keyring;
      const input = { ...PLAIN, accessibleEntities: [OTHER] };
      const { key, info } = await prepared.issue(input, WIDE);
      const asked: (boolean | undefined)[] = [];
      const noted = <Args extends readonly unknown[], T>(call: (...args: Args) => T) => {
        return (...args: Args): T => {
          asked.push((args.at(-1) as CallOptions).fresh);
          return call(...args);
        };
      };
      const store: KeyStore = {
        ...inner,
        findByDigest: noted(inner.findByDigest),
        findById: noted(inner.findById),
        list: noted(inner.list),
        listLineage: noted(inner.listLineage),
      };
      await operation(setUp({ store }).keyring, { key, keyId: info.keyId });
      reads[name] = asked;
    }
    expect(reads).toEqual({
      issue: [],
      identify: [true],
      verify: [undefined],
      authenticate: [undefined],
      admit: [undefined],
      revoke: [true],
      revokeLineage: [true, true],
      suspend: [true],
      // It was not suspended, so the row is read again to confirm that no write was necessary.
      resume: [true, true],
      withdraw: [true, true],
      rotate: [true],
      list: [true],
      'list addressing': [true],
      get: [true],
      flush: [],
    });
  });

  it('needs only the methods of the contract from its store', () => {
    const { summarize, listExpiring, listAll, listChanged, ...rest } = memoryStore();
    expect([summarize, listExpiring, listAll, listChanged].every((m) => m !== undefined)).toBe(
      true,
    );
    expect(Object.keys(guardStore(rest, TIMEOUT_MS))).toEqual([...METHODS]);
  });
});
