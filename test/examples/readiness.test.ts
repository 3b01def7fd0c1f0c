/** The readiness of the service. */
import { StoreError } from 'keyscope';
import type { ChannelState } from 'keyscope/cache';
import { describe, expect, it } from 'vitest';
import { createServer } from '../../examples/hono/server.ts';
import { openPlatform } from '../../examples/platform/host/boot.ts';
import { listen, stop } from '../../examples/platform/host/listen.ts';
import { createReadiness } from '../../examples/platform/host/readiness.ts';
import { folder } from '../support/folder.ts';
import { setUp } from '../support/keyring.ts';

/** A service with parts that tests break. */
function service() {
  const { keyring } = setUp();
  const state = { channel: 'up' as ChannelState, isAway: false, time: 0, asked: 0 };
  const reported: unknown[] = [];
  const readiness = createReadiness({
    async verify(key) {
      state.asked += 1;
      if (state.isAway) throw new StoreError('the store is away');
      return keyring.verify(key);
    },
    prefix: 'acme',
    channelState: () => state.channel,
    report: (error) => reported.push(error),
    now: () => state.time,
  });
  const ask = async () => {
    const { status, body } = await readiness.answer();
    return [status, JSON.parse(body) as unknown];
  };
  return { state, reported, readiness, ask };
}

describe('the service', () => {
  it.each<[ChannelState, number, string]>([
    ['none', 200, 'ready'],
    ['up', 200, 'ready'],
    // It would not learn of keys that other instances end.
    ['starting', 503, 'starting'],
    // All instances lose a channel at once, and keys end without it too.
    ['silent', 200, 'ready'],
    ['down', 200, 'ready'],
  ])('reports the state of its channel: %s', async (channel, status, word) => {
    const { state, ask } = service();
    state.channel = channel;
    expect(await ask()).toEqual([status, { status: word, channel }]);
  });

  it('is not ready during an outage of its store, and reports that', async () => {
    const { state, reported, ask } = service();
    expect(await ask()).toEqual([200, { status: 'ready', channel: 'up' }]);
    state.isAway = true;
    state.time = 1_000;
    expect(await ask()).toEqual([503, { status: 'store away', channel: 'up' }]);
    expect(reported).toEqual([new StoreError('the store is away')]);
    state.isAway = false;
    state.time = 2_000;
    expect(await ask()).toEqual([200, { status: 'ready', channel: 'up' }]);
  });

  it('asks its store at most once a second', async () => {
    const { state, ask } = service();
    await Promise.all(Array.from({ length: 100 }, ask));
    state.time = 999;
    await ask();
    expect(state.asked).toBe(1);
    state.time = 1_000;
    await ask();
    expect(state.asked).toBe(2);
    // The clock was set back.
    state.time = 0;
    await ask();
    expect(state.asked).toBe(3);
  });

  it('answers /readyz without a key, and reveals nothing else', async () => {
    const { file, remove } = folder();
    const platform = await openPlatform(file('ready'));
    const server = createServer(platform);
    const { origin } = new URL(await listen(server, 0));
    const ready = await fetch(`${origin}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([200, { status: 'ready', channel: 'none' }]);
    expect(ready.headers.get('Cache-Control')).toBe('no-store');
    expect((await fetch(`${origin}/readyz`, { method: 'POST' })).status).toBe(405);
    await stop(server);
    await platform.close();
    remove();
  });
});
