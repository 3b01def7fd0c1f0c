/** Fixtures of the usage tests: stores that record their batches, and counts of timers. */
import type { KeyStore, UsageEntry, UsageOptions } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { vi } from 'vitest';
import { setUp, wrap } from './keyring.ts';

/** Writes every use. */
export const EXACT: UsageOptions = { granularityMs: 0 };

/**
 * Makes a keyring over a store that keeps each batch of usage, and throws while `fails` returns
 * true.
 */
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
 * Counts the timers that `act` sets before it returns, minus those that it clears. Keyrings of
 * other files in the same process retry writes every few seconds, so a count at any other moment
 * would include their timers.
 */
export function timersSetBy(act: () => unknown): number {
  const before = vi.getTimerCount();
  act();
  return vi.getTimerCount() - before;
}
