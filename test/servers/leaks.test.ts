/**
 * A leak report, from the request until another process that caches the key rejects it. Prints how
 * long that took. The assertion holds on any machine: the test is shorter than `maxStalenessMs`, so
 * that cannot be what ended the key.
 */
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { cacheStore } from 'keyscope/cache';
import { createLeakHandler } from 'keyscope/leaks';
import { LRUCache } from 'lru-cache';
import { afterAll, expect, test } from 'vitest';
import { openStore } from '../../examples/platform/host/open-store.ts';
import { close, listen } from '../examples/http-harness.ts';
import { issueForTwo } from '../support/cache.ts';
import { startCached } from '../support/cached-process.ts';
import { openListing, SIGNER } from '../support/leak-reports.ts';
import { keyringOver } from '../support/patient-keyring.ts';
import { describeOn } from '../support/servers.ts';
import { makeScratch } from '../support/store-address.ts';

const PROMISE_MS = 30_000;
const ROUNDS = 20;

const lines: string[] = [];
afterAll(() => {
  if (lines.length === 0) return;
  const head = `from a report to the refusal in another process, ${ROUNDS} keys`;
  console.log(`\n${head}\n${lines.join('\n')}`);
});

const time = (): number => performance.timeOrigin + performance.now();

/** Milliseconds from each report until the other process rejects the key, sorted. */
async function readLags(address: string): Promise<number[]> {
  const { store, invalidation, close: closeStore } = await openStore(address);
  const cached = cacheStore(store, {
    cache: new LRUCache<string, object>({ max: 100 }),
    maxStalenessMs: PROMISE_MS,
    ...(invalidation && { invalidation }),
  });
  const keyring = keyringOver(cached);
  const listing = await openListing([SIGNER.listed]);
  const leaks = createLeakHandler({ keyrings: { acme: keyring }, github: listing.source });
  const server = createServer(getRequestListener(leaks));
  const url = `http://127.0.0.1:${await listen(server)}`;
  const child = startCached(address, PROMISE_MS, 'up');
  const lags: number[] = [];
  try {
    expect(await child.hear()).toEqual(['ready']);
    // The first two warm up: they open connections and subscribe to the channel.
    for (let round = -2; round < ROUNDS; round += 1) {
      const { key } = await issueForTwo(keyring);
      child.send(key);
      expect(await child.hear()).toEqual(['let in']);
      const body = JSON.stringify([
        { token: key, type: 'acme_key', url: 'https://h/', source: '' },
      ]);
      const headers = {
        'github-public-key-identifier': SIGNER.listed.key_identifier,
        'github-public-key-signature': SIGNER.sign(body),
      };
      const sent = time();
      const answer = await fetch(`${url}/leaks/github`, { method: 'POST', headers, body });
      expect(await answer.json()).toMatchObject([{ label: 'true_positive' }]);
      const [, shown] = (await child.hear()) as [number, number];
      expect(shown - sent).toBeLessThan(PROMISE_MS);
      if (round >= 0) lags.push(shown - sent);
    }
    return lags.sort((a, b) => a - b);
  } finally {
    await child.stop();
    await close(server);
    listing.close();
    await keyring.flush();
    await closeStore();
  }
}

for (const name of ['postgres', 'redis'] as const) {
  const onServer = await describeOn(name);
  onServer(`${name}, with a cache in two processes`, () => {
    test('ends a reported key everywhere', { timeout: 120_000 }, async () => {
      const { address, remove } = await makeScratch(name);
      try {
        const lags = await readLags(address);
        const median = lags[lags.length / 2] ?? 0;
        const longest = lags.at(-1) ?? 0;
        lines.push(`${name}: ${median.toFixed(1)} ms, the longest ${longest.toFixed(1)} ms`);
      } finally {
        await remove();
      }
    });
  });
}
