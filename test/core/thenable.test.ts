import type { KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { isCloudflareWorkers, isThenable, startTimer, within } from '../../src/core/thenable.js';
import { issue, setUp, storeError, untyped, wrap } from '../support/keyring.ts';

/** A promise that is also a function. */
function callable(promise: Promise<unknown>): unknown {
  // biome-ignore lint/suspicious/noThenProperty: this is what is tested
  return Object.assign(() => undefined, { then: promise.then.bind(promise) });
}

function answering(answer: (call: () => unknown) => Promise<unknown>): KeyStore {
  return wrap(memoryStore(), (_method, _args, call) => callable(answer(call)));
}

describe('isThenable', () => {
  it.each([
    [Promise.resolve(), true],
    [callable(Promise.resolve()), true],
    [[], false],
    [() => undefined, false],
    [null, false],
    [undefined, false],
    ['then', false],
  ])('recognizes case %#', (value, expected) => {
    expect(isThenable<unknown>(value)).toBe(expected);
  });
});

// Such a promise was treated as the answer itself: every look-up over Cloudflare's RPC was a 503.
describe('a store whose promises are functions, as over Cloudflare RPC', () => {
  it('is awaited', async () => {
    const { keyring } = setUp({ store: answering(async (call) => call()) });
    const { key, info } = await issue(keyring);
    expect((await keyring.verify(key)).keyId).toBe(info.keyId);
  });

  it('is broken when it rejects', async () => {
    const store = answering(() => Promise.reject(new Error('lost')));
    await storeError(() => issue(setUp({ store }).keyring));
  });

  it('is broken when it does not answer in time', async () => {
    const never = untyped<Promise<unknown>>(new Promise(() => undefined));
    const { keyring } = setUp({ store: answering(() => never), storeTimeoutMs: 1 });
    await storeError(() => issue(keyring));
  });
});

describe('isCloudflareWorkers', () => {
  afterEach(() => void vi.unstubAllGlobals());

  // Node 20 has no `navigator`.
  it.each([
    [undefined, false],
    [{ userAgent: 'Node.js/24' }, false],
    [{ userAgent: 'Cloudflare-Workers' }, true],
  ])('recognizes the runtime by %j', (navigator, expected) => {
    vi.stubGlobal('navigator', navigator);
    expect(isCloudflareWorkers()).toBe(expected);
  });
});

describe('within', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());
  const never = new Promise<string>(() => {});
  const late = (): never => {
    throw new Error('late');
  };

  it('settles like the promise, and leaves no timer behind', async () => {
    expect(await within(1_000, Promise.resolve('kept'), late)).toBe('kept');
    await expect(within(1_000, Promise.reject(new Error('broken')), late)).rejects.toThrow(
      'broken',
    );
    await Promise.resolve();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('rejects with the error of onLate, at the time limit and not before', async () => {
    const called = vi.fn(late);
    const waiting = within(1_000, never, called);
    vi.advanceTimersByTime(999);
    expect(called).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    await expect(waiting).rejects.toThrow('late');
    expect(called).toHaveBeenCalledTimes(1);
  });

  it('resolves to the result of onLate, or waits on if that is the promise itself', async () => {
    const substituted = within(1_000, never, () => 'substitute');
    let settle = (_: string): void => {};
    const slow = new Promise<string>((resolve) => {
      settle = resolve;
    });
    const patient = within(1_000, slow, () => slow);
    vi.advanceTimersByTime(1_000);
    expect(await substituted).toBe('substitute');
    settle('after all');
    expect(await patient).toBe('after all');
  });
});

describe('a timer', () => {
  it('keeps a process alive, unless it is for background work', () => {
    const timers: { readonly unref: () => void }[] = [];
    const start = (): unknown => {
      const timer = { unref: vi.fn() };
      timers.push(timer);
      return timer;
    };
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(untyped(start));
    onTestFinished(() => void vi.restoreAllMocks());
    const never = new Promise<never>(() => {});
    const late = (): never => {
      throw new Error('late');
    };
    void within(1_000, never, late);
    void within(1_000, never, late, true);
    startTimer(() => {}, 1_000);
    expect(timers.map(({ unref }) => vi.mocked(unref).mock.calls.length)).toEqual([0, 1, 1]);
  });
});
