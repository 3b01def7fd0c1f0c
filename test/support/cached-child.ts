/**
 * A process beside the test's that verifies through a cache: `cached-child.ts <address>
 * <maxStalenessMs> <up|down>`, with the channel of the store or without. Each key that it is sent
 * is for two entities. It says when that key was first let in to both, and once it is refused or
 * lost one of them, when the last verification began that did not show it, and when the first ended
 * that did.
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
 * Milliseconds since the epoch and parts of them, on the clock that all processes of a machine
 * share.
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
