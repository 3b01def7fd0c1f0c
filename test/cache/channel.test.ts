/** The channel between processes, which may fail in any way. */
import type { Invalidation } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  cachedRing,
  holdLookUps,
  issueForTwo,
  MARKINGS,
  openChannel,
  outcome,
  REVOKE,
  standing,
  turn,
  twoProcesses,
} from '../support/cache.ts';
import {
  AUTHORITY,
  delayed,
  denied,
  issue,
  OTHER,
  rowOf,
  START,
  storeError,
  wrap,
} from '../support/keyring.ts';

const throwError = (): never => {
  throw new Error('down');
};
const rejectLater = (): Promise<never> => Promise.reject(new Error('down'));
const neverAnswer = (): Promise<void> => new Promise(() => {});

describe('a cache with a channel', () => {
  it.each(MARKINGS)(
    'shows everywhere that a key is $what, once the message has arrived',
    async ({ prepare, before, mark, after }) => {
      const { channel, sent } = openChannel();
      const { here, there } = twoProcesses(channel);
      const { key, info } = await issueForTwo(here.keyring);
      await prepare(here.keyring, info.keyId);
      const stands = () => standing(there.keyring.verify(key));
      expect(await stands()).toBe(before);
      sent.length = 0;
      await mark(here.keyring, info.keyId);
      expect(sent).toEqual([info.keyId]);
      expect(await stands()).toBe(after);
    },
  );

  it('outdates look-ups in progress when a message arrives', async () => {
    const { channel, listeners } = openChannel();
    const inner = memoryStore();
    const { store, letGo } = holdLookUps(inner);
    const { keyring } = cachedRing(store, { invalidation: channel });
    const { key, info } = await issue(keyring);
    const early = keyring.verify(key);
    await inner.mark(info.keyId, REVOKE);
    for (const listener of listeners) listener(info.keyId);
    const later = outcome(keyring.verify(key));
    await letGo();
    await early;
    expect(await later).toBe('revoked');
  });

  it("sends only key ids, after the write, even if the write's answer was lost", async () => {
    const { channel, sent } = openChannel();
    const inner = memoryStore();
    let fails = false;
    const atPublish: unknown[] = [];
    const store = wrap(inner, (method, _args, call) => {
      const answer = call();
      if (method === 'mark' && fails) throw new Error('lost');
      return answer;
    });
    const invalidation: Invalidation = {
      ...channel,
      async publish(keyId) {
        atPublish.push((await rowOf(inner, keyId)).revokedAt);
        return channel.publish(keyId);
      },
    };
    const { keyring } = cachedRing(store, { invalidation });
    const keys = [await issue(keyring), await issue(keyring)];
    await keyring.revoke(keys[0]?.info.keyId as string, AUTHORITY);
    fails = true;
    await storeError(() => keyring.revoke(keys[1]?.info.keyId as string, AUTHORITY));
    await turn();
    expect(sent).toEqual(keys.map(({ info }) => info.keyId));
    expect(atPublish).toEqual([START, START]);
  });

  it.each([
    ['throws', throwError],
    ['rejects', rejectLater],
    ['hangs', neverAnswer],
  ] as const)('neither fails nor delays a revocation if publish %s', async (_what, publish) => {
    const invalidation: Invalidation = { subscribe() {}, publish };
    for (const inner of [memoryStore(), delayed(memoryStore())]) {
      const { keyring } = cachedRing(inner, { invalidation });
      const { key, info } = await issue(keyring);
      await keyring.verify(key);
      await keyring.revoke(info.keyId, AUTHORITY);
      await denied(() => keyring.verify(key), 'invalid_token', 'revoked');
    }
    await turn();
  });

  it.each([
    ['throws', throwError],
    ['rejects', rejectLater],
  ])('subscribes again with look-ups, once a second, if subscribe %s', async (_what, fail) => {
    const { channel, listeners } = openChannel();
    let attempts = 0;
    let down = true;
    const subscribe: Invalidation['subscribe'] = (listener) => {
      attempts += 1;
      return down ? fail() : channel.subscribe(listener);
    };
    const { keyring, store, clock, inner } = cachedRing(memoryStore(), {
      invalidation: { ...channel, subscribe },
    });
    expect(attempts).toBe(1);
    const { key, info } = await issue(keyring);
    await keyring.verify(key);
    await store.findByDigest(['s1$a']);
    expect(attempts).toBe(1);
    clock.advance(1_000);
    await store.findByDigest(['s1$b']);
    await store.findByDigest(['s1$c']);
    expect(attempts).toBe(2);
    await turn();
    down = false;
    clock.advance(1_000);
    await store.findByDigest(['s1$d']);
    await turn();
    clock.advance(1_000);
    await store.findByDigest(['s1$e']);
    expect([attempts, listeners.length]).toEqual([3, 1]);
    await keyring.verify(key);
    await inner.mark(info.keyId, REVOKE);
    listeners[0]?.(info.keyId);
    await denied(() => keyring.verify(key), 'invalid_token', 'revoked');
  });

  it('ignores messages that are not key ids, and ids of other keys', async () => {
    const { channel, listeners } = openChannel();
    const { keyring, lookUps } = cachedRing(memoryStore(), { invalidation: channel });
    const { key } = await issue(keyring);
    const principal = await keyring.verify(key);
    const odd = [
      undefined,
      null,
      5,
      {},
      [],
      '',
      'x'.repeat(1e6),
      OTHER.toUpperCase(),
      `${OTHER} `,
      [OTHER],
      Symbol('s'),
    ];
    const many = Array.from({ length: 10_001 }, (_, i) => `${OTHER}${i}`);
    for (const junk of [...odd, ...many]) listeners[0]?.(junk as string);
    listeners[0]?.(OTHER);
    expect(await keyring.verify(key)).toBe(principal);
    expect(lookUps()).toBe(1);
  });
});

describe('an error of the channel', () => {
  const down = new Error('down');

  it.each([
    [
      'throws',
      () => {
        throw down;
      },
    ],
    ['rejects', () => Promise.reject(down)],
  ] as const)('is reported if publish or subscribe %s', async (_what, fail) => {
    const told: unknown[][] = [];
    const onError = (...given: readonly unknown[]) => told.push([...given]);
    const { keyring, store, clock } = cachedRing(memoryStore(), {
      invalidation: { publish: fail, subscribe: fail },
      onError,
    });
    await turn();
    expect(told.splice(0)).toEqual([[down, 'invalidation']]);
    const { info } = await issue(keyring);
    await keyring.revoke(info.keyId, AUTHORITY);
    await turn();
    expect(told.splice(0)).toEqual([[down, 'invalidation']]);
    // Including an attempt made alongside a look-up.
    clock.advance(1_000);
    await store.findByDigest(['s1$a']);
    await turn();
    expect(told).toEqual([[down, 'invalidation']]);
  });

  it('fails no call, whatever the listener does with it', async () => {
    for (const onError of [throwError, rejectLater, neverAnswer]) {
      const { keyring } = cachedRing(memoryStore(), {
        invalidation: { publish: throwError, subscribe: rejectLater },
        onError,
      });
      const { key, info } = await issue(keyring);
      await keyring.verify(key);
      await keyring.revoke(info.keyId, AUTHORITY);
      await denied(() => keyring.verify(key), 'invalid_token', 'revoked');
      await turn();
    }
  });
});
