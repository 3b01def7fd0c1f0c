/** The state of the channel: the cache receives its own beat, or reports that it does not. */
import type { KeyStore } from 'keyscope';
import type { CachedStore, Invalidation } from 'keyscope/cache';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  freshRecord,
  holdLookUps,
  lru,
  MAX_MS,
  openChannel,
  REVOKE,
  turn,
} from '../support/cache.ts';
import { stoppedClock, wrap } from '../support/keyring.ts';

const BEAT_MS = 5_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SILENT = 'cacheStore: the invalidation channel is silent: received nothing for 5000 ms';

/** A cache over a channel that can be cut, and the errors it reported. */
function cut(inner: KeyStore = memoryStore()) {
  const clock = stoppedClock();
  const { channel, sent, listeners } = openChannel();
  const told: string[] = [];
  const line = { isDeaf: false, isDown: false, hangs: false };
  const invalidation: Invalidation = {
    subscribe(listener) {
      if (line.isDown) throw new Error('down');
      if (line.hangs) return new Promise(() => {});
      return channel.subscribe((keyId) => {
        if (!line.isDeaf) listener(keyId);
      });
    },
    publish(keyId) {
      if (line.isDown) throw new Error('down');
      return channel.publish(keyId);
    },
  };
  let lookUps = 0;
  const counting = wrap(inner, (method, _args, call) => {
    if (method === 'findByDigest') lookUps += 1;
    return call();
  });
  const open = (): CachedStore =>
    cacheStore(counting, {
      cache: lru(),
      maxStalenessMs: MAX_MS,
      now: clock.now,
      invalidation,
      onError: (error) => told.push((error as Error).message),
    });
  /** Lets time pass until the next beat is due, and sends it with a look-up. */
  async function beat(store: CachedStore): Promise<void> {
    clock.advance(BEAT_MS);
    await store.findByDigest([crypto.randomUUID()]);
    await turn();
  }
  return { clock, sent, listeners, told, line, open, beat, lookUps: () => lookUps };
}

/** A message from another process. */
function beatOfAnother(): string {
  return `6b657973-636f-8${crypto.randomUUID().slice(15)}`;
}

describe('a channel that works', () => {
  it('is up, and beats alongside look-ups, at most every 5 s', async () => {
    const { clock, sent, told, open } = cut();
    const store = open();
    expect(store.channelState()).toBe('starting');
    await turn();
    expect(store.channelState()).toBe('up');
    clock.advance(BEAT_MS - 1);
    await store.findByDigest(['s1$a']);
    expect(sent).toEqual([]);
    clock.advance(1);
    await store.findByDigest(['s1$b']);
    await store.findByDigest(['s1$c']);
    expect(sent).toHaveLength(1);
    clock.advance(BEAT_MS);
    expect(store.channelState()).toBe('up');
    expect(sent).toEqual([sent[0], sent[0]]);
    expect(told).toEqual([]);
  });

  it("carries beats in the form of a key id, different for each process and no key's", async () => {
    const { sent, open, beat } = cut();
    const here = open();
    const there = open();
    await turn();
    await beat(here);
    await beat(there);
    expect(new Set(sent).size).toBe(2);
    for (const message of sent) {
      expect(message).toMatch(UUID);
      // Key ids are version 4.
      expect((message as string)[14]).toBe('8');
    }
  });

  it("drops no entry on a beat, its own or another's", async () => {
    const { open, beat, lookUps } = cut();
    const here = open();
    const there = open();
    await turn();
    const made = freshRecord();
    await here.insert(made);
    await here.findByDigest([made.digest]);
    await beat(there);
    const before = lookUps();
    expect(await here.findByDigest([made.digest])).toEqual([made]);
    expect(lookUps()).toBe(before);
  });

  // A thousand processes that beat every 5 s would receive 200,000 beats a second.
  it('carries two beats a second in all: each one received delays the next', async () => {
    const { clock, sent, told, listeners, open } = cut();
    const store = open();
    await turn();
    for (let second = 1; second <= 100; second++) {
      clock.advance(1_000);
      for (let count = 0; count < 3; count++) {
        for (const listener of listeners) listener(beatOfAnother());
      }
      expect(store.channelState()).toBe('up');
    }
    expect(sent).toEqual([]);
    // From here on one a second, which is less than two since its own last beat.
    for (let second = 1; second <= 110; second++) {
      clock.advance(1_000);
      for (const listener of listeners) listener(beatOfAnother());
      store.channelState();
    }
    expect(sent.length).toBeGreaterThan(0);
    expect(told).toEqual([]);
  });

  it('is found silent as soon, however many other beats it has received', async () => {
    const { told, listeners, line, open, beat } = cut();
    const store = open();
    await turn();
    for (let count = 0; count < 10_000; count++) {
      for (const listener of listeners) listener(beatOfAnother());
    }
    line.isDeaf = true;
    await beat(store);
    expect(store.channelState()).toBe('up');
    await beat(store);
    expect([store.channelState(), told]).toEqual(['silent', [SILENT]]);
  });

  it('has the state none without an `invalidation`', () => {
    const store = cacheStore(memoryStore(), { cache: lru(), maxStalenessMs: MAX_MS });
    expect(store.channelState()).toBe('none');
  });
});

describe('a channel that is silent', () => {
  it('is reported once, when the next beat is due, and is up when a beat arrives', async () => {
    const { told, line, open, beat } = cut();
    const store = open();
    await turn();
    line.isDeaf = true;
    await beat(store);
    expect([store.channelState(), told]).toEqual(['up', []]);
    for (let i = 0; i < 3; i++) await beat(store);
    expect([store.channelState(), told]).toEqual(['silent', [SILENT]]);
    line.isDeaf = false;
    await beat(store);
    expect(store.channelState()).toBe('up');
    line.isDeaf = true;
    await beat(store);
    await beat(store);
    expect([store.channelState(), told]).toEqual(['silent', [SILENT, SILENT]]);
  });

  it('is reported without look-ups when a caller asks for its state', async () => {
    const { clock, told, line, open } = cut();
    const store = open();
    await turn();
    line.isDeaf = true;
    for (const expected of ['up', 'silent', 'silent']) {
      clock.advance(BEAT_MS);
      expect(store.channelState()).toBe(expected);
    }
    expect(told).toEqual([SILENT]);
  });

  it('includes a channel whose subscription is never answered', async () => {
    const { clock, told, line, open, beat } = cut();
    line.hangs = true;
    const store = open();
    await turn();
    clock.advance(BEAT_MS - 1);
    expect(store.channelState()).toBe('starting');
    await beat(store);
    expect([store.channelState(), told]).toEqual(['silent', [SILENT]]);
  });

  it("does not come up on another process's beat", async () => {
    const { sent, listeners, line, open, beat } = cut();
    const store = open();
    await turn();
    line.isDeaf = true;
    await beat(store);
    await beat(store);
    line.isDeaf = false;
    const other = (sent[0] as string).replace(/.$/, (last) => (last === '0' ? '1' : '0'));
    for (const listener of listeners) listener(other);
    line.isDeaf = true;
    expect(store.channelState()).toBe('silent');
  });
});

describe('a channel that is down', () => {
  it('is reported with each beat that fails, and is up when one arrives', async () => {
    const { told, line, open, beat } = cut();
    const store = open();
    await turn();
    line.isDown = true;
    for (let i = 0; i < 2; i++) await beat(store);
    expect([store.channelState(), told]).toEqual(['down', ['down', 'down']]);
    line.isDown = false;
    await beat(store);
    expect([store.channelState(), told]).toEqual(['up', ['down', 'down']]);
  });

  it('is up when the subscription succeeds', async () => {
    const { clock, line, open } = cut();
    line.isDown = true;
    const store = open();
    await turn();
    expect(store.channelState()).toBe('down');
    line.isDown = false;
    clock.advance(1_000);
    store.channelState();
    await turn();
    expect(store.channelState()).toBe('up');
  });
});

describe('a channel that recovers', () => {
  it.each(['isDeaf', 'isDown'] as const)('outdates everything older, once (%s)', async (how) => {
    const inner = memoryStore();
    const { line, open, beat, lookUps } = cut(inner);
    const store = open();
    await turn();
    line[how] = true;
    await beat(store);
    await beat(store);
    const made = [freshRecord(), freshRecord()];
    for (const record of made) await inner.insert(record);
    const findAll = () => made.map(({ digest }) => store.findByDigest([digest]));
    findAll();
    // The message of this mark is lost.
    await inner.mark(made[0]?.keyId ?? '', REVOKE);
    expect(findAll()[0]).toMatchObject([{ revokedAt: null }]);
    line[how] = false;
    await beat(store);
    expect(store.channelState()).toBe('up');
    const before = lookUps();
    expect(findAll()).toMatchObject([[{ revokedAt: 1 }], [{ revokedAt: null }]]);
    expect(lookUps()).toBe(before + 2);
    await beat(store);
    findAll();
    expect(lookUps()).toBe(before + 3);
  });

  it('detaches look-ups in progress', async () => {
    const inner = memoryStore();
    const { store: holding, letGo } = holdLookUps(inner);
    const { clock, line, open } = cut(holding);
    const store = open();
    await turn();
    line.isDeaf = true;
    for (let i = 0; i < 2; i++) {
      clock.advance(BEAT_MS);
      store.channelState();
    }
    const made = freshRecord();
    await inner.insert(made);
    clock.advance(BEAT_MS - 1);
    const early = store.findByDigest([made.digest]);
    await inner.mark(made.keyId, REVOKE);
    line.isDeaf = false;
    clock.advance(1);
    expect(store.channelState()).toBe('up');
    const late = store.findByDigest([made.digest]);
    await letGo();
    await early;
    expect(await late).toMatchObject([{ revokedAt: 1 }]);
    expect(await store.findByDigest([made.digest])).toMatchObject([{ revokedAt: 1 }]);
  });
});
