/** Shared fixtures of the usage tests: stores that record their batches, and a count of timers. */
import type { KeyStore, UsageEntry, UsageOptions } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { vi } from 'vitest';
import { setUp, wrap } from './keyring.ts';

/** Every use is written. */
export const EXACT: UsageOptions = { granularityMs: 0 };

/** A keyring over a store that records each batch of usage and throws while `fails` is true. */
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
 * The number of timers that `act` sets before it returns, minus those that it clears. Counts
 * nothing else: keyrings of other files in this process keep retrying stores that are gone and set
 * timers at any time.
 */
export function timersSetBy(act: () => unknown): number {
  const before = vi.getTimerCount();
  act();
  return vi.getTimerCount() - before;
}
