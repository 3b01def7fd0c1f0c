import { inspect } from 'node:util';
import {
  causeOf,
  isStoreError,
  type KeyRecord,
  type KeyStore,
  type LineageQuery,
  StoreError,
  toResponse,
} from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  AUTHORITY,
  bearer,
  delayed,
  issue,
  METHODS,
  OTHER,
  OWN,
  PLAIN,
  recording,
  rowOf,
  START,
  setUp,
  storeError,
  THIRD,
  thrown,
  untyped,
  wrap,
} from '../support/keyring.ts';
import { behind, OPERATIONS, WIDE } from '../support/outages.ts';

/**
 * The timers with this delay that have neither fired nor been cleared. Not all timers, because
 * keyrings of other files set some in the same process.
 */
function pendingTimers(delay: number): ReadonlySet<unknown> {
  const pending = new Set<unknown>();
  const set = globalThis.setTimeout;
  const clear = globalThis.clearTimeout;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation((run, ms) => {
    const timer = set(() => {
      pending.delete(timer);
      run();
    }, ms);
    if (ms === delay) pending.add(timer);
    return timer;
  });
  vi.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => {
    pending.delete(timer);
    clear(timer);
  });
  return pending;
}

afterEach(() => {
  // In this order, because restoring a spy on a fake timer would restore the fake.
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe('a store that never answers', () => {
  it.each(Object.keys(OPERATIONS))('is abandoned after the time-out: %s', async (name) => {
    vi.useFakeTimers();
    const { keyring, known } = await behind(() => new Promise(() => {}));
    let settled: unknown;
    const answer = thrown(async () => OPERATIONS[name]?.(keyring, known)).then((error) => {
      settled = error;
    });
    await vi.advanceTimersByTimeAsync(1_999);
    expect(settled).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await answer;
    expect(String(settled)).toMatch(/^StoreError: store\.\w+ did not answer within 2000 ms$/);
  });

  it('gets the configured time for each call', async () => {
    vi.useFakeTimers();
    const inner = memoryStore();
    const slow = wrap(
      inner,
      (_method, _args, call) => new Promise((resolve) => setTimeout(() => resolve(call()), 30)),
    );
    const { keyring } = setUp({ store: slow, storeTimeoutMs: 31 });
    const issued = issue(keyring);
    await vi.advanceTimersByTimeAsync(30);
    const { info } = await issued;
    // Three calls of 30 ms each are within the limit.
    const rotated = keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
    await vi.advanceTimersByTimeAsync(90);
    await rotated;
    const late = storeError(() =>
      setUp({ store: slow, storeTimeoutMs: 29 }).keyring.get(info.keyId, AUTHORITY),
    );
    await vi.advanceTimersByTimeAsync(29);
    await late;
  });

  it('leaves no timer after an answer, nor an unhandled rejection after a late one', async () => {
    vi.useFakeTimers();
    const set = vi.spyOn(globalThis, 'setTimeout');
    const cleared = vi.spyOn(globalThis, 'clearTimeout');
    // An unusual time, because keyrings of other files set timers in the same process.
    const { keyring } = setUp({ store: delayed(memoryStore()), storeTimeoutMs: 123_457 });
    const issued = issue(keyring);
    await vi.advanceTimersByTimeAsync(10);
    await issued;
    const own = set.mock.results
      .filter((_, index) => set.mock.calls[index]?.[1] === 123_457)
      .map(({ value }): unknown => value);
    expect(own).toHaveLength(1);
    expect(cleared.mock.calls.flat()).toEqual(expect.arrayContaining(own));
    const rejecting = wrap(
      memoryStore(),
      () => new Promise((_, reject) => setTimeout(() => reject(new Error('x')), 50)),
    );
    const late = storeError(() =>
      setUp({ store: rejecting, storeTimeoutMs: 10 }).keyring.get(OWN, AUTHORITY),
    );
    await vi.advanceTimersByTimeAsync(100);
    await late;
  });

  it('keeps only requests from within the time-out waiting', async () => {
    vi.useFakeTimers();
    const timeout = 97;
    const perMs = 20;
    const ms = 500;
    const inner = memoryStore();
    const { key } = await issue(setUp({ store: inner }).keyring);
    const { store, calls } = recording(wrap(inner, () => new Promise(() => {})));
    const { keyring, events } = setUp({ store, storeTimeoutMs: timeout });
    const timers = pendingTimers(timeout);
    const seen = { waiting: 0, most: 0, timers: 0, other: 0 };
    const admit = async () => {
      const error = await thrown(() => keyring.admit(bearer(key), { operation: 'list' }));
      seen.waiting -= 1;
      if (!isStoreError(error)) seen.other += 1;
    };
    for (let passed = 0; passed < ms; passed++) {
      for (let count = 0; count < perMs; count++) {
        seen.waiting += 1;
        void admit();
      }
      seen.most = Math.max(seen.most, seen.waiting);
      seen.timers = Math.max(seen.timers, timers.size);
      await vi.advanceTimersByTimeAsync(1);
    }
    // Ten thousand requests came, and each asked once.
    expect(calls).toHaveLength(perMs * ms);
    expect(new Set(calls)).toEqual(new Set(['findByDigest']));
    const most = perMs * timeout;
    expect(seen).toEqual({ waiting: most - perMs, most, timers: most, other: 0 });
    await vi.advanceTimersByTimeAsync(timeout);
    expect(seen).toMatchObject({ waiting: 0, other: 0 });
    expect(timers.size).toBe(0);
    expect(events).toHaveLength(perMs * ms);
  });

  it('does not delay garbage, which is refused immediately', async () => {
    vi.useFakeTimers();
    const { keyring, known } = await behind(() => new Promise(() => {}));
    const pending = keyring.verify(known.key).catch(() => 'timed out');
    expect(String(await thrown(() => keyring.verify('garbage')))).toMatch(/^AccessError/);
    expect(await Promise.race([pending, Promise.resolve('still waiting')])).toBe('still waiting');
  });
});

describe('the error of a driver', () => {
  const said = 'duplicate key value h1.p1$00 for "root:hunter2@db"';
  const unreadable = () => {
    throw new RangeError(said);
  };

  it.each([
    ['an Error', new Error(said)],
    ['an Error with more fields', Object.assign(new Error(said), { code: '23505', detail: said })],
    ['a text', said],
    ['an object', { message: said }],
    ['nothing', undefined],
    ['null', null],
    // The message of a StoreError from the driver was shown.
    ['a StoreError', new StoreError(said)],
    // Reading it throws. The request waited forever, and the rejection ended the process.
    ['an object that cannot be read', new Proxy({}, { get: unreadable })],
  ])('is only in the cause: %s', async (_what, cause) => {
    for (const fail of [
      () => {
        throw cause;
      },
      () => Promise.reject(cause),
    ]) {
      const { keyring, known } = await behind(fail);
      for (const operation of Object.values(OPERATIONS)) {
        const error = await storeError(() => operation(keyring, known));
        expect(causeOf(error)).toBe(cause);
        expect(error.cause).toBeUndefined();
        const shown = [
          String(error),
          error.message,
          error.stack,
          JSON.stringify(error),
          JSON.stringify({ ...error }),
          inspect(error, { depth: Infinity }),
          inspect(error, { depth: Infinity, showHidden: true }),
          inspect(new Error('outer', { cause: error }), { depth: Infinity }),
          JSON.stringify(toResponse(error, { realm: 'x' })),
        ].join('\n');
        expect(shown).not.toMatch(/hunter2|23505|h1\.p1/);
      }
    }
  });
});

describe('a clock', () => {
  // Its error was rethrown unchanged: a 500, without `access.denied` for the log.
  it('is broken if it throws, and the event has the time of the machine', async () => {
    vi.useFakeTimers({ now: START });
    const broken = new Error('no time server');
    const store = memoryStore();
    const input = { ...PLAIN, accessibleEntities: [OTHER] };
    const { key, info } = await setUp({ store }).keyring.issue(input, WIDE);
    const now = () => {
      throw broken;
    };
    const { keyring, events } = setUp({ store, now });
    for (const name of Object.keys(OPERATIONS).filter((each) => each !== 'flush')) {
      const error = await storeError(async () =>
        OPERATIONS[name]?.(keyring, { key, keyId: info.keyId }),
      );
      expect([name, error.message, causeOf(error)]).toEqual([
        name,
        'the clock failed: see causeOf',
        broken,
      ]);
    }
    // A log needs a time anyway, and this is the only other clock.
    expect(events).toMatchObject([
      { type: 'access.denied', time: START, code: 'store_error', operation: 'list' },
    ]);
    // A listing shows states, which depend on the time. An empty listing needs no time.
    await keyring.list({}, { entityId: THIRD });
  });

  it('is broken if it returns a time beyond the range of a Date', async () => {
    await storeError(() => issue(setUp({ now: () => 8.64e15 + 1 }).keyring));
  });

  it('is rounded down to whole milliseconds', async () => {
    const { keyring, store } = setUp({ now: () => START + 0.75 });
    const { key, info } = await issue(keyring);
    expect((await keyring.verify(key)).keyId).toBe(info.keyId);
    expect((await rowOf(store, info.keyId)).createdAt).toBe(START);
    await keyring.revoke(info.keyId, AUTHORITY);
    expect((await rowOf(store, info.keyId)).revokedAt).toBe(START);
  });
});

describe('an object as the store', () => {
  it.each(METHODS)('is refused at start-up without the method %s', (method) => {
    const store = memoryStore();
    const { [method]: _left, ...rest } = store;
    for (const odd of [rest, { ...rest, [method]: null }, { ...rest, [method]: 'function' }]) {
      expect(() => setUp({ store: untyped(odd) })).toThrow(TypeError);
      expect(() => setUp({ store: untyped(odd) })).toThrow(/store: pass an object with the method/);
    }
  });

  it('may be an instance of a class whose methods need `this`', async () => {
    class Store implements KeyStore {
      readonly #inner = memoryStore();
      insert(record: KeyRecord) {
        return this.#inner.insert(record);
      }
      findByDigest(digests: readonly string[]) {
        return this.#inner.findByDigest(digests);
      }
      findById(keyId: string) {
        return this.#inner.findById(keyId);
      }
      list(query: Parameters<KeyStore['list']>[0]) {
        return this.#inner.list(query);
      }
      listLineage(query: LineageQuery) {
        return this.#inner.listLineage(query);
      }
      mark(...args: Parameters<KeyStore['mark']>) {
        return this.#inner.mark(...args);
      }
      touch(entries: Parameters<KeyStore['touch']>[0]) {
        return this.#inner.touch(entries);
      }
    }
    const { keyring } = setUp({ store: new Store() });
    const { key, info } = await issue(keyring);
    await keyring.admit(bearer(key), { operation: 'list' });
    await keyring.flush();
    expect(await keyring.revokeLineage(info.keyId, AUTHORITY)).toEqual([info.keyId]);
    expect((await keyring.list({}, AUTHORITY)).keys).toHaveLength(1);
  });
});
