/**
 * Child process that verifies through a cache, with or without the store's channel. Usage:
 * `cached-child.ts <address> <maxStalenessMs> <up|down>`. Each key it receives is for two entities.
 * It reports when that key first passed for both. Once the key is refused or loses one of them, it
 * reports when the last verification that did not show this began, and when the first that did
 * ended.
 */
import { createInterface } from 'node:readline';
import { cacheStore } from 'keyscope/cache';
import { LRUCache } from 'lru-cache';
import { openStore } from '../../examples/platform/host/open-store.ts';
import { OTHER } from './keyring.ts';
import { keyringOver } from './patient-keyring.ts';

const [address = '', maxStalenessMs, channel] = process.argv.slice(2);
const { store, invalidation, close } = await openStore(address);
const cached = cacheStore(store, {
  cache: new LRUCache<string, object>({ max: 1_000 }),
  maxStalenessMs: Number(maxStalenessMs),
  ...(channel === 'up' && invalidation && { invalidation }),
});
const keyring = keyringOver(cached);

/**
 * Milliseconds since the epoch, with fractions, on the clock that all processes of a machine share.
 */
function time(): number {
  return performance.timeOrigin + performance.now();
}

function say(...words: readonly unknown[]): void {
  process.stdout.write(`${JSON.stringify(words)}\n`);
}

function admits(key: string): Promise<boolean> {
  return keyring.verify(key).then(
    ({ accessibleEntities }) => accessibleEntities.includes(OTHER),
    () => false,
  );
}

async function watch(key: string): Promise<void> {
  let letIn = time();
  if (!(await admits(key))) {
    say('refused at once');
    return;
  }
  say('let in');
  for (;;) {
    const begun = time();
    if (!(await admits(key))) break;
    letIn = begun;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  say(letIn, time());
}

say('ready');
for await (const line of createInterface({ input: process.stdin })) await watch(line);
await close();
