/** One query for several callers: when it may be aborted, and who may still join it. */
import type { CallOptions, KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  cachedRing,
  freshRecord,
  holdLookUps,
  noteOptions,
  noteSignals,
  turn,
} from '../support/cache.ts';
import { issue, setUp, storeError } from '../support/keyring.ts';

/** Look-ups that wait, through a cache, and the signals that the store asks for. */
function held() {
  const { store: waitingStore, letGo } = holdLookUps(memoryStore());
  const { store: inner, signals } = noteSignals(waitingStore);
  const { store } = cachedRing(inner);
  return { store, inner, signals, letGo };
}

/** A caller that may give up. */
function caller(): { readonly options: CallOptions; readonly giveUp: () => void } {
  const controller = new AbortController();
  return { options: { signal: controller.signal }, giveUp: () => controller.abort() };
}

describe('a look-up that several callers wait for', () => {
  it('continues while one of them waits, and is aborted with the last', async () => {
    const { store, signals } = held();
    const callers = [caller(), caller(), caller()];
    for (const { options } of callers) void store.findByDigest(['s1$a'], options);
    expect(signals).toHaveLength(1);
    for (const { giveUp } of callers) {
      expect(signals[0]?.aborted).toBe(false);
      giveUp();
    }
    expect(signals[0]?.aborted).toBe(true);
  });

  it('is never aborted if one of them has no signal', () => {
    for (const without of [undefined, {}, { signal: undefined }]) {
      const { store, signals } = held();
      const { options, giveUp } = caller();
      void store.findByDigest(['s1$a'], without);
      void store.findByDigest(['s1$a'], options);
      giveUp();
      expect(signals[0]?.aborted).toBe(false);
    }
  });

  it('answers the callers that still wait', async () => {
    const { store, inner, letGo } = held();
    const made = freshRecord();
    await inner.insert(made);
    const early = caller();
    void store.findByDigest([made.digest], early.options);
    const rows = store.findByDigest([made.digest], caller().options);
    early.giveUp();
    await letGo();
    expect(await rows).toEqual([made]);
  });

  it('cannot be joined once it is aborted', async () => {
    const { store, inner, signals, letGo } = held();
    const made = freshRecord();
    await inner.insert(made);
    const first = caller();
    void store.findByDigest([made.digest], first.options);
    first.giveUp();
    const rows = store.findByDigest([made.digest], caller().options);
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, false]);
    await letGo();
    expect(await rows).toEqual([made]);
  });

  it('watches signals from when the store asks for its own', async () => {
    const { store: noting, noted } = noteOptions(holdLookUps(memoryStore()).store);
    const { store } = cachedRing(noting);
    let asked = 0;
    const early = caller();
    const late = {
      get signal() {
        asked += 1;
        return early.options.signal;
      },
    };
    void store.findByDigest(['s1$a'], late);
    expect(asked).toBe(0);
    early.giveUp();
    expect(noted[0]?.signal?.aborted).toBe(true);
    expect(asked).toBe(1);
  });

  it('starts aborted if its only caller had given up before', () => {
    const { store, signals } = held();
    const { options, giveUp } = caller();
    giveUp();
    void store.findByDigest(['s1$a'], options);
    expect(signals[0]?.aborted).toBe(true);
  });

  it('is not aborted once it is answered, and keeps no signal', async () => {
    for (const inner of [memoryStore(), null]) {
      const { store: slow, letGo } = holdLookUps(memoryStore());
      const { store: noting, signals } = noteSignals(inner ?? slow);
      const { store } = cachedRing(noting);
      const { options, giveUp } = caller();
      const rows = store.findByDigest(['s1$a'], options);
      await letGo();
      await rows;
      giveUp();
      expect(signals[0]?.aborted).toBe(false);
    }
  });
});

// As `verify` calls it: each call has its own timeout.
describe('a request that times out', () => {
  it('takes the answer from no other, and the last one ends the query', async () => {
    const hanging: KeyStore = { ...memoryStore(), findByDigest: () => new Promise(() => {}) };
    const { store: inner, signals } = noteSignals(hanging);
    const { store } = cachedRing(inner);
    const hasty = setUp({ store, storeTimeoutMs: 1 });
    const patient = setUp({ store, storeTimeoutMs: 50 });
    const { key } = await issue(hasty.keyring);
    const waiting = patient.keyring.verify(key);
    await storeError(() => hasty.keyring.verify(key));
    expect(signals.map((signal) => signal?.aborted)).toEqual([false]);
    await storeError(() => waiting);
    await turn();
    expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
  });
});
