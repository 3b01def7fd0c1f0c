/**
 * A child process that verifies through a cache: `cached-child.ts <address> <maxStalenessMs>
 * <up|down> <public key>`, with or without the channel of the store. Each credential that it
 * receives is a key for two entities, or the token of a job that acts as one. It reports when it
 * first let the key in to both. Once the key is refused or has lost one of them, it reports when
 * the last verification without that result began, and when the first with it ended.
 */
import { createInterface } from 'node:readline';
import type { JWK } from 'jose';
import { cacheStore } from 'keyscope/cache';
import { createKeylessVerifier } from 'keyscope/keyless';
import { LRUCache } from 'lru-cache';
import { openStore } from '../../examples/platform/host/open-store.ts';
import { AUDIENCE, entryFor } from './keyless.ts';
import { OTHER } from './keyring.ts';
import { keyringOver } from './patient-keyring.ts';

const [address = '', maxStalenessMs, channel, publicKey = ''] = process.argv.slice(2);
const { store, invalidation, close } = await openStore(address);
const cached = cacheStore(store, {
  cache: new LRUCache<string, object>({ max: 1_000 }),
  maxStalenessMs: Number(maxStalenessMs),
  ...(channel === 'up' && invalidation && { invalidation }),
});
const issuers = [entryFor(JSON.parse(publicKey) as JWK)];
const tokens = createKeylessVerifier({ audience: AUDIENCE, issuers });
const keyring = keyringOver(cached, Date.now, tokens);

/**
 * Returns fractional milliseconds since the epoch, by a clock that all processes of a machine
 * share.
 */
function time(): number {
  return performance.timeOrigin + performance.now();
}

function say(...words: readonly unknown[]): void {
  process.stdout.write(`${JSON.stringify(words)}\n`);
}

function admits(credential: string): Promise<boolean> {
  return keyring.authenticate(`Bearer ${credential}`).then(
    ({ accessibleEntities }) => accessibleEntities.includes(OTHER),
    () => false,
  );
}

async function watch(credential: string): Promise<void> {
  let letIn = time();
  if (!(await admits(credential))) {
    say('refused at once');
    return;
  }
  say('let in');
  for (;;) {
    const begun = time();
    if (!(await admits(credential))) break;
    letIn = begun;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  say(letIn, time());
}

say('ready');
for await (const line of createInterface({ input: process.stdin })) await watch(line);
await close();
