/** Thousands of guesses: a cache remembers few of them and forgets no live key because of them. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { generateKey } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { cachedRing } from '../support/cache.ts';
import { denied, issue } from '../support/keyring.ts';

describe('20,000 unknown keys', () => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const heap = () => {
    gc();
    return process.memoryUsage().heapUsed;
  };

  it('evict no live key, and at most 1,024 of them are remembered', async () => {
    const { keyring, cache, lookUps } = cachedRing();
    const { key } = await issue(keyring);
    await keyring.verify(key);
    const guesses = Array.from({ length: 20_000 }, () => generateKey({ prefix: 'acme' }));
    const refuse = (guess: string | undefined) =>
      denied(() => keyring.verify(guess), 'invalid_token', 'unknown_key');
    const before = heap();
    for (const guess of guesses) await refuse(guess);
    const grown = heap() - before;
    expect(grown).toBeLessThan(5e6);
    expect([cache.size, lookUps()]).toEqual([1, 20_001]);
    await keyring.verify(key);
    for (const guess of guesses.slice(-1_024)) await refuse(guess);
    expect(lookUps()).toBe(20_001);
    await refuse(guesses.at(-1_025));
    expect(lookUps()).toBe(20_002);
  });
});
