import { inspect } from 'node:util';
import { isStoreError, type KeyRecord, type KeyStore, StoreError, toResponse } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  AUTHORITY,
  type Between,
  bearer,
  delayed,
  denied,
  HOUR,
  issue,
  METHODS,
  type Method,
  OWN,
  policy,
  type Ring,
  readThrough,
  recording,
  returning,
  rowOf,
  START,
  setUp,
  storeError,
  thrown,
  untyped,
  wrap,
} from '../support/keyring.ts';

/** A key made before anything breaks. */
type Known = { readonly key: string; readonly keyId: string };

/** Every operation that asks the store. What it resolves with would be a request that passed. */
const OPERATIONS: Readonly<Record<string, (keyring: Ring, known: Known) => Promise<unknown>>> = {
  issue: (keyring) => issue(keyring),
  verify: (keyring, { key }) => keyring.verify(key),
  authenticate: (keyring, { key }) => keyring.authenticate(bearer(key)),
  admit: (keyring, { key }) => keyring.admit(bearer(key), { policy, operation: 'list' }),
  revoke: (keyring, { keyId }) => keyring.revoke(keyId, AUTHORITY),
  rotate: (keyring, { keyId }) => keyring.rotate(keyId, { overlapMs: HOUR }, AUTHORITY),
  list: (keyring) => keyring.list({}, AUTHORITY),
  get: (keyring, { keyId }) => keyring.get(keyId, AUTHORITY),
  flush: (keyring) => keyring.flush(),
};

/**
 * A store with a key and pending usage, behind `between`, which starts to act once they are there.
 */
async function behind(between: Between) {
  let armed = false;
  const store = wrap(memoryStore(), (method, args, call) =>
    armed ? between(method, args, call) : call(),
  );
  const { keyring } = setUp({ store });
  const { key, info } = await issue(keyring);
  await keyring.admit(bearer(key), { policy, operation: 'list' });
  armed = true;
  return { keyring, known: { key, keyId: info.keyId } };
}

/**
 * The timers of one delay that have neither fired nor been cleared. Not all timers: keyrings of
 * other files set some in the same process, too.
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
  // In this order: a spy on a timer that is faked would bring that one back.
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe('a store that answers in the wrong shape', () => {
  const nothing: readonly unknown[] = [undefined, 'rows', 7, {}, new Set()];
  const wrong: Readonly<Record<string, readonly (readonly [Method, readonly unknown[]])[]>> = {
    verify: [['findByDigest', [null, ...nothing]]],
    admit: [['findByDigest', [null, ...nothing]]],
    get: [['findById', [[], false, ...nothing]]],
    revoke: [
      ['findById', [[], false, ...nothing]],
      ['markEnded', [null, [], 1, 'true', ...nothing]],
    ],
    rotate: [
      ['findById', [[], false, ...nothing]],
      ['markEnded', [null, [], 1, 'true', ...nothing]],
    ],
    list: [['list', [null, ...nothing, [null], [{}], ['row']]]],
  };

  it.each(Object.keys(wrong))('is broken, whatever the shape: %s', async (name) => {
    for (const [method, answers] of wrong[name] ?? []) {
      for (const answer of answers) {
        for (const give of [() => answer, async () => answer]) {
          const { keyring, known } = await behind((asked, _args, call) =>
            asked === method ? give() : call(),
          );
          const { message } = await storeError(async () => OPERATIONS[name]?.(keyring, known));
          if (method !== 'list')
            expect(message).toBe(`store.${method} broke its contract; see KeyStore`);
        }
      }
    }
  });

  it('is broken if it shows a malformed row; a key that depends on one is refused', async () => {
    const bad = (row: KeyRecord) => ({ ...row, scopes: ['*:*'] });
    const { keyring, known } = await behind((method, _args, call) => {
      if (method === 'findById') return bad(call() as KeyRecord);
      return method === 'list' ? (call() as readonly KeyRecord[]).map(bad) : call();
    });
    for (const name of ['get', 'list'])
      await storeError(async () => OPERATIONS[name]?.(keyring, known));
    const { rotate, revoke } = OPERATIONS;
    await denied(async () => rotate?.(keyring, known), 'invalid_token', 'record_tampered');
    // Whatever the row says, the key can be ended.
    await revoke?.(keyring, known);
  });

  it('is broken if verify gets no list of rows', async () => {
    for (const answer of [undefined, null, {}, 'row', 0, new Set()]) {
      const { key, keyring } = await readThrough((store) => returning(store, () => answer));
      await storeError(() => keyring.verify(key));
    }
  });

  it.each([null, undefined, 'row', 7])('is broken if verify gets a list of %j', async (row) => {
    const { key, keyring } = await readThrough((store) => returning(store, () => [row]));
    await storeError(() => keyring.verify(key));
  });

  it('is broken if its answer cannot be read', async () => {
    const unreadable = {
      get keyId(): string {
        throw new Error('h1.p1$00');
      },
    };
    for (const give of [() => unreadable, async () => unreadable]) {
      const store = wrap(memoryStore(), give);
      const error = await storeError(() => setUp({ store }).keyring.get(OWN, AUTHORITY));
      expect(error.message).toBe('store.findById failed: see cause');
      expect(error.cause).toEqual(new Error('h1.p1$00'));
    }
  });

  it('is broken if the `then` of its answer cannot be read', async () => {
    const odd = Object.defineProperty({}, 'then', {
      get: () => {
        throw new Error('h1.p1$00');
      },
    });
    const store = wrap(memoryStore(), () => odd);
    await storeError(() => setUp({ store }).keyring.get(OWN, AUTHORITY));
  });

  it('is broken if it says that it did not insert: no key is handed out', async () => {
    const store = wrap(memoryStore(), (method, _args, call) =>
      method === 'insert' ? false : call(),
    );
    await storeError(() => issue(setUp({ store }).keyring));
  });

  it('is broken if a list of rows has a hole: the key is not called bad', async () => {
    const inner = memoryStore();
    const { key } = await issue(setUp({ store: inner }).keyring);
    const holed = (rows: unknown) =>
      Object.assign(new Array<unknown>(2), { 1: (rows as unknown[])[0] });
    const store = wrap(inner, (method, _args, call) =>
      method === 'findByDigest' ? holed(call()) : call(),
    );
    await storeError(() => setUp({ store }).keyring.verify(key));
  });

  it('is broken if any line of a summary is malformed', async () => {
    const lines = [
      { scheme: 's1', live: 1, lastUsedAt: null },
      { scheme: 's1', live: 'one', lastUsedAt: null },
    ];
    const store = { ...memoryStore(), summarize: () => untyped<[]>(lines) };
    await storeError(() => setUp({ store }).keyring.pepperReport());
  });
});

describe('a store that never answers', () => {
  it.each(Object.keys(OPERATIONS))('is given up after the time-out: %s', async (name) => {
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

  it('has the configured time for each call', async () => {
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
    // Three calls of 30 ms each are in time.
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
    // A time of its own: keyrings of other files, in the same process, set timers too.
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

  it('keeps only the requests waiting that came within the time-out', async () => {
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
      const error = await thrown(() => keyring.admit(bearer(key), { policy, operation: 'list' }));
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
    // Ten thousand came, and each asked once.
    expect(calls).toHaveLength(perMs * ms);
    expect(new Set(calls)).toEqual(new Set(['findByDigest']));
    const most = perMs * timeout;
    expect(seen).toEqual({ waiting: most - perMs, most, timers: most, other: 0 });
    await vi.advanceTimersByTimeAsync(timeout);
    expect(seen).toMatchObject({ waiting: 0, other: 0 });
    expect(timers.size).toBe(0);
    expect(events).toHaveLength(perMs * ms);
  });

  it('delays nobody else: garbage is refused at once meanwhile', async () => {
    vi.useFakeTimers();
    const { keyring, known } = await behind(() => new Promise(() => {}));
    const pending = keyring.verify(known.key).catch(() => 'timed out');
    expect(String(await thrown(() => keyring.verify('garbage')))).toMatch(/^AccessError/);
    expect(await Promise.race([pending, Promise.resolve('still waiting')])).toBe('still waiting');
  });
});

describe('what a driver says', () => {
  const said = 'duplicate key value h1.p1$00 for "root:hunter2@db"';
  const unreadable = () => {
    throw new RangeError(said);
  };

  it.each([
    ['an Error', new Error(said)],
    ['an Error with more', Object.assign(new Error(said), { code: '23505', detail: said })],
    ['a text', said],
    ['an object', { message: said }],
    ['nothing', undefined],
    ['null', null],
    // The message of an error of ours was shown.
    ['an error of ours', new StoreError(said)],
    // Reading it throws: the request waited for ever, and the rejection ended the process.
    ['what cannot be read', new Proxy({}, { get: unreadable })],
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
        expect(error.cause).toBe(cause);
        expect(Object.getOwnPropertyDescriptor(error, 'cause')?.enumerable ?? false).toBe(false);
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
  // Its error was handed on as it came: 500, and no `access.denied` for the log.
  it('is broken if it throws, and an event has the time of the machine', async () => {
    vi.useFakeTimers({ now: START });
    const broken = new Error('no time server');
    const store = memoryStore();
    const { key, info } = await issue(setUp({ store }).keyring);
    const now = () => {
      throw broken;
    };
    const { keyring, events } = setUp({ store, now });
    for (const name of ['issue', 'verify', 'authenticate', 'admit', 'rotate'] as const) {
      const error = await storeError(async () =>
        OPERATIONS[name]?.(keyring, { key, keyId: info.keyId }),
      );
      expect([name, error.message, error.cause]).toEqual([
        name,
        'the clock failed: see cause',
        broken,
      ]);
    }
    // A log needs a time all the same, and no other clock is at hand.
    expect(events).toMatchObject([
      { type: 'access.denied', time: START, code: 'store_error', operation: 'list' },
    ]);
    await keyring.list({}, AUTHORITY);
  });

  it('is broken if it answers a time beyond what a Date holds', async () => {
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

describe('an object in place of a store', () => {
  it.each(METHODS)('is refused at start if it has no method %s', (method) => {
    const store = memoryStore();
    const { [method]: _left, ...rest } = store;
    for (const odd of [rest, { ...rest, [method]: null }, { ...rest, [method]: 'function' }]) {
      expect(() => setUp({ store: untyped(odd) })).toThrow(TypeError);
      expect(() => setUp({ store: untyped(odd) })).toThrow(/store: pass an object with the method/);
    }
  });

  it('may be an instance of a class, whose methods need their `this`', async () => {
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
      markEnded(...args: Parameters<KeyStore['markEnded']>) {
        return this.#inner.markEnded(...args);
      }
      touch(entries: Parameters<KeyStore['touch']>[0]) {
        return this.#inner.touch(entries);
      }
      summarize(now: number) {
        return this.#inner.summarize(now);
      }
    }
    const { keyring } = setUp({ store: new Store() });
    const { key, info } = await issue(keyring);
    await keyring.admit(bearer(key), { policy, operation: 'list' });
    await keyring.flush();
    await keyring.revoke(info.keyId, AUTHORITY);
    expect((await keyring.list({}, AUTHORITY)).keys).toHaveLength(1);
  });
});
