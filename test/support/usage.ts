/** What the tests of usage share: stores that note their batches, and counts of timers. */
import type { KeyStore, UsageEntry, UsageOptions } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { vi } from 'vitest';
import { setUp, wrap } from './keyring.ts';

/** Every use is written. */
export const EXACT: UsageOptions = { granularityMs: 0 };

/** A keyring over a store that keeps each batch of usage, and throws while `fails` says so. */
export function watched(
  fails: () => boolean = () => false,
  inner: KeyStore = memoryStore(),
  usage: UsageOptions | 'off' = EXACT,
) {
  const touches: (readonly UsageEntry[])[] = [];
  const store = wrap(inner, (method, args, call) => {
    if (method !== 'touch') return call();
    if (fails()) throw new Error('down');
    touches.push(structuredClone(args[0]) as readonly UsageEntry[]);
    return call();
  });
  return { ...setUp({ store, usage }), inner, touches };
}

/**
 * How many timers `act` sets before it returns, less those that it clears. Keyrings of other files
 * in the same process write again every few seconds to a store that is gone: a count at any other
 * moment has their timers in it.
 */
export function timersSetBy(act: () => unknown): number {
  const before = vi.getTimerCount();
  act();
  return vi.getTimerCount() - before;
}
