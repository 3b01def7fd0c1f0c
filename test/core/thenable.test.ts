import type { KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { isThenable } from '../../src/core/thenable.js';
import { issue, setUp, storeError, untyped, wrap } from '../support/keyring.ts';

/** A promise that is a function, too. */
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
  ])('tells of case %#', (value, expected) => {
    expect(isThenable<unknown>(value)).toBe(expected);
  });
});

// Such an answer was taken for the answer itself: every look-up over Cloudflare's RPC was a 503.
describe('a store whose promises are functions, as over the RPC of Cloudflare', () => {
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
