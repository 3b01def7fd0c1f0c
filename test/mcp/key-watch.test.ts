/** The signal of an entry, which is aborted when its key ends, and how long a key is watched. */
import { causeOf, type KeyStore, type StoreError } from 'keyscope';
import type { McpGateOptions } from 'keyscope/mcp';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createKeyWatch, stopWatching, type Watched } from '../../src/mcp/key-watch.ts';
import { AUTHORITY, issue, OTHER, OWN, recording, START, wrap } from '../support/keyring.ts';
import {
  entered,
  issueForTwo,
  LIST,
  type Operation,
  post,
  setUpGate,
  tokenFor,
} from '../support/mcp.ts';
import { chanceFrom } from '../support/planted-keys.ts';

const RECHECK_MS = 30_000;

beforeEach(() => void vi.useFakeTimers({ now: START }));
afterEach(() => void vi.useRealTimers());

type Options = Partial<McpGateOptions<Operation>>;
type KeyringOptions = Parameters<typeof setUpGate>[1];

/** Makes a gate whose keyring uses the same clock as its timers. */
function setUpWatched(options: Options = {}, keyringOptions: KeyringOptions = {}) {
  return setUpGate(options, { now: Date.now, ...keyringOptions });
}

/** A channel on which a test sends messages. */
function createChannel() {
  const listeners: ((keyId: string) => void)[] = [];
  const subscribe = vi.fn(async (listener: (keyId: string) => void) => {
    listeners.push(listener);
  });
  const say = (keyId: string): void => {
    for (const listener of listeners) listener(keyId);
  };
  return { invalidation: { subscribe }, say };
}

/** Lets pending promises settle without advancing time. */
const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

describe('the signal of an entry', () => {
  it('is aborted when the key expires, to the millisecond', async () => {
    const { gate, keyring } = setUpWatched({ recheckMs: 1_000_000 });
    const input = { name: 'n', scopes: ['threats:read'] } as const;
    const expiresAt = new Date(START + 90_000);
    const { key, info } = await keyring.issue({ ...input, expiresAt }, AUTHORITY);
    const { signal } = entered(await gate(post(key, LIST)));
    await vi.advanceTimersByTimeAsync(89_999);
    expect(signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(signal.reason).toMatchObject({ code: 'invalid_token', reason: 'expired' });
    expect(signal.reason).toHaveProperty('keyId', info.keyId);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each(['revoke', 'suspend'] as const)(
    'is aborted within the interval without a channel: %s',
    async (end) => {
      const { gate, keyring } = setUpWatched();
      const { key, info } = await issue(keyring);
      const { signal } = entered(await gate(post(key, LIST)));
      await vi.advanceTimersByTimeAsync(3 * RECHECK_MS);
      expect(signal.aborted).toBe(false);
      await keyring[end](info.keyId, AUTHORITY);
      await vi.advanceTimersByTimeAsync(RECHECK_MS - 1);
      expect(signal.aborted).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      expect(signal.reason).toMatchObject({ code: 'invalid_token' });
    },
  );

  it('is aborted after a message on the channel and a look-up that bypasses caches', async () => {
    const { invalidation, say } = createChannel();
    const fresh: unknown[] = [];
    const inner = memoryStore();
    const findByDigest: KeyStore['findByDigest'] = (digests, options) => {
      fresh.push(options?.fresh);
      return inner.findByDigest(digests, options);
    };
    const store = { ...inner, findByDigest };
    const { gate, keyring } = setUpWatched({ invalidation }, { store });
    const one = await issue(keyring);
    const two = await issue(keyring);
    const first = entered(await gate(post(one.key, LIST))).signal;
    const second = entered(await gate(post(two.key, LIST))).signal;
    fresh.length = 0;
    // A forged message only causes a look-up.
    say(one.info.keyId);
    await settle();
    expect(fresh).toEqual([true]);
    expect(first.aborted).toBe(false);
    await keyring.revoke(one.info.keyId, AUTHORITY);
    say(one.info.keyId);
    await settle();
    expect([first.aborted, second.aborted]).toEqual([true, false]);
    expect(invalidation.subscribe).toHaveBeenCalledTimes(1);
  });

  it('looks the key up again if a message arrives during a look-up', async () => {
    const { invalidation, say } = createChannel();
    let release = (): void => {};
    let isHeld = false;
    const store = wrap(memoryStore(), async (method, _args, act) => {
      const answer = await act();
      if (method === 'findByDigest' && isHeld) {
        isHeld = false;
        await new Promise<void>((resolve) => {
          release = resolve;
        });
      }
      return answer;
    });
    const { gate, keyring } = setUpWatched({ invalidation }, { store });
    const { key, info } = await issue(keyring);
    const { signal } = entered(await gate(post(key, LIST)));
    isHeld = true;
    say(info.keyId);
    await settle();
    await keyring.revoke(info.keyId, AUTHORITY);
    say(info.keyId);
    release();
    await settle();
    expect(signal.aborted).toBe(true);
  });

  it.each(['a key', 'a token'])('is aborted when an entity withdraws: %s', async (of) => {
    const { gate, keyring } = setUpWatched();
    const { key, info } = await issueForTwo(keyring);
    const credential = of === 'a key' ? key : await tokenFor(await keyring.verify(key));
    const { signal } = entered(await gate(post(credential, LIST)));
    await keyring.withdraw(info.keyId, { entityId: OTHER });
    await vi.advanceTimersByTimeAsync(RECHECK_MS);
    // The signature is verified on another thread.
    await vi.waitUntil(() => signal.aborted);
    expect(signal.reason).toMatchObject({ code: 'entity_forbidden' });
  });

  it('is aborted when a rotated key retires', async () => {
    const { gate, keyring } = setUpWatched({ recheckMs: 10_000 });
    const { key, info } = await issue(keyring);
    const { signal } = entered(await gate(post(key, LIST)));
    await keyring.rotate(info.keyId, { overlapMs: 15_000, expiresAt: 'never' }, AUTHORITY);
    await vi.advanceTimersByTimeAsync(14_999);
    expect(signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(signal.aborted).toBe(true);
  });

  it('is aborted, with a report, if the key can no longer be checked', async () => {
    const cause = new Error('the database is away');
    let isBroken = false;
    const store = wrap(memoryStore(), (_method, _args, act) => {
      if (isBroken) throw cause;
      return act();
    });
    const told: unknown[] = [];
    const onError = (error: StoreError) => told.push(causeOf(error));
    const { gate, keyring } = setUpWatched({ onError }, { store });
    const { signal } = entered(await gate(post((await issue(keyring)).key, LIST)));
    isBroken = true;
    await vi.advanceTimersByTimeAsync(RECHECK_MS);
    expect(signal.aborted).toBe(true);
    expect(told).toEqual([cause]);
  });

  it('is watched from its first read until the client disconnects', async () => {
    const { invalidation } = createChannel();
    const { store, calls } = recording(memoryStore());
    const { gate, keyring } = setUpWatched({ invalidation }, { store });
    const { key } = await issue(keyring);
    const controller = new AbortController();
    const request = new Request(post(key, LIST), { signal: controller.signal });
    const entry = entered(await gate(request));
    // The SDKs and loggers do this.
    expect({ ...entry }).not.toHaveProperty('signal');
    expect(vi.getTimerCount()).toBe(0);
    expect(invalidation.subscribe).not.toHaveBeenCalled();
    const { signal } = entry;
    expect(entry.signal).toBe(signal);
    expect(vi.getTimerCount()).toBe(1);
    calls.length = 0;
    controller.abort();
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(2 * RECHECK_MS);
    expect([calls, signal.aborted]).toEqual([[], false]);
  });
});

describe('createKeyWatch', () => {
  /** Opens streams for the keys of these tests. Each key has one principal. */
  async function setUpStreams(bounds: { readonly maxPerKey: number; readonly maxWatched: number }) {
    const { keyring } = setUpWatched();
    const startWatch = createKeyWatch({
      ...bounds,
      recheckMs: RECHECK_MS,
      invalidation: undefined,
      now: Date.now,
      report: () => {},
    });
    return async (entityId = OWN): Promise<(count: number) => AbortSignal[]> => {
      const { key } = await issue(keyring);
      const principal = { ...(await keyring.verify(key)), entityId };
      const watched: Watched = { principal, authenticate: async () => principal, left: undefined };
      return (count) => Array.from({ length: count }, () => startWatch(watched));
    };
  }

  const areOpen = (signals: readonly AbortSignal[]) => signals.map(({ aborted }) => !aborted);

  // Regression: the client disconnected before the listener was added, so the key was watched
  // forever.
  it('does not watch a key if the client has already disconnected', async () => {
    const { gate, keyring } = setUpWatched();
    const { key } = await issue(keyring);
    const controller = new AbortController();
    const request = new Request(post(key, LIST), { signal: controller.signal });
    const entry = entered(await gate(request));
    controller.abort();
    expect(entry.signal.aborted).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('ends the oldest stream of a key that opens too many', async () => {
    const newKey = await setUpStreams({ maxPerKey: 3, maxWatched: 100 });
    const open = await newKey();
    const openOther = await newKey();
    const others = openOther(3);
    const signals = open(5);
    expect(areOpen(signals)).toEqual([false, false, true, true, true]);
    expect(areOpen(others)).toEqual([true, true, true]);
    expect(signals[0]?.reason).toMatchObject({ message: 'too many streams are open' });
    expect(vi.getTimerCount()).toBe(6);
  });

  // Regression: with a single limit that ended the oldest, one key could end all other streams.
  it('ends the newest stream of the key with the most above the limit of all streams', async () => {
    const newKey = await setUpStreams({ maxPerKey: 4, maxWatched: 5 });
    const openFirst = await newKey();
    const openMany = await newKey();
    const openLate = await newKey();
    const first = openFirst(1);
    const many = openMany(8);
    expect([areOpen(first), areOpen(many).filter(Boolean).length]).toEqual([[true], 4]);
    const late = openLate(1);
    expect([areOpen(first), areOpen(late)]).toEqual([[true], [true]]);
    expect(areOpen(many)).toEqual([false, false, false, false, true, true, true, false]);
    expect(vi.getTimerCount()).toBe(5);
  });

  it('ends the new stream if no key has more', async () => {
    const newKey = await setUpStreams({ maxPerKey: 4, maxWatched: 3 });
    const keys = [await newKey(), await newKey(), await newKey(), await newKey()];
    const signals = keys.flatMap((open) => open(1));
    expect(areOpen(signals)).toEqual([true, true, true, false]);
    expect(vi.getTimerCount()).toBe(3);
  });

  it('leaves a key its newest stream if another one would then have more', async () => {
    const newKey = await setUpStreams({ maxPerKey: 4, maxWatched: 3 });
    const openFirst = await newKey();
    const openSecond = await newKey();
    const first = openFirst(1);
    const second = openSecond(2);
    expect(areOpen([...openFirst(1), ...first, ...second])).toEqual([false, true, true, true]);
  });

  // Regression: one organization with 10,100 keys left the key of another one of its 40 streams.
  it('ends the streams of the entity with the most, however many keys it has', async () => {
    const newKey = await setUpStreams({ maxPerKey: 50, maxWatched: 100 });
    const others = await Promise.all(Array.from({ length: 110 }, () => newKey()));
    const openOne = await newKey(OTHER);
    for (const step of [1, 2, 3, 110]) {
      const chance = chanceFrom(step);
      const ones: AbortSignal[] = [];
      const many: AbortSignal[] = [];
      for (let turn = 0; turn < 10 * others.length; turn += 1) {
        const isOne = ones.length < 40 && (turn % step === 0 || turn > 900);
        if (isOne) ones.push(...openOne(1));
        else many.push(...(others[Math.floor(chance() * others.length)]?.(1) ?? []));
      }
      expect(areOpen(ones)).toEqual(Array.from({ length: 40 }, () => true));
      expect(areOpen(many).filter(Boolean)).toHaveLength(60);
      for (const signal of [...ones, ...many]) stopWatching(signal);
    }
  });

  it('ends a stream of the key with the most within an entity', async () => {
    const newKey = await setUpStreams({ maxPerKey: 5, maxWatched: 6 });
    const few = (await newKey())(1);
    const many = (await newKey())(3);
    const one = (await newKey(OTHER))(3);
    expect(areOpen(few)).toEqual([true]);
    expect(areOpen(many)).toEqual([true, true, false]);
    expect(areOpen(one)).toEqual([true, true, true]);
  });

  it('counts each stream once, until it ends', async () => {
    const newKey = await setUpStreams({ maxPerKey: 2, maxWatched: 2 });
    const open = await newKey();
    const [one] = open(1);
    if (one === undefined) throw new Error('no stream was opened');
    stopWatching(one);
    stopWatching(one);
    const next = open(3);
    expect(areOpen(next)).toEqual([false, true, true]);
    expect(vi.getTimerCount()).toBe(2);
  });
});

describe('createKeyWatch, on a channel that rejects the subscription', () => {
  it('reports it, retries with a later stream, and does not delay streams', async () => {
    const cause = new Error('refused');
    const subscribe = vi.fn(() => Promise.reject(cause));
    const told: unknown[] = [];
    const onError = (error: StoreError) => told.push(causeOf(error));
    const { gate, keyring } = setUpWatched({ invalidation: { subscribe }, onError });
    const { key, info } = await issue(keyring);
    const { signal } = entered(await gate(post(key, LIST)));
    await settle();
    expect(told).toEqual([cause]);
    const open = async () => entered(await gate(post(key, LIST))).signal;
    await open();
    expect(subscribe).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1_000);
    await open();
    expect(subscribe).toHaveBeenCalledTimes(2);
    await keyring.revoke(info.keyId, AUTHORITY);
    await vi.advanceTimersByTimeAsync(RECHECK_MS);
    expect(signal.aborted).toBe(true);
  });
});
