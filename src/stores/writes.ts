/** The writes that all stores share, and usage in batches that fit one statement. */
import type { Usage } from '../core/record.js';
import type { KeyStore, UsageEntry } from '../core/store.js';
import { mergeUsage } from '../core/usage.js';

/** The methods that write. */
export type Writes = Pick<KeyStore, 'insert' | 'mark' | 'touch'>;

/** The limits of one statement. */
export interface UsageLimits {
  readonly keys: number;
  readonly characters: number;
}

/** Fits a packet of 1 MiB. */
const LIMITS: UsageLimits = { keys: 1000, characters: 1_000_000 };

/**
 * Splits usage into JSON lists that each fit one statement. They are sorted by id and have one
 * entry per key, because an UPDATE writes each row only once. Invalid ids are left out. `shape`
 * turns an entry into the form that the statement reads.
 */
export function usageBatches(
  entries: readonly UsageEntry[],
  isId: (keyId: unknown) => boolean,
  shape: (entry: UsageEntry) => unknown = (entry) => entry,
  limits: UsageLimits = LIMITS,
): string[] {
  const merged = mergeByKey(entries.filter((entry) => isId(entry.keyId)));
  const texts = merged.map((entry) => JSON.stringify(shape(entry)));
  return fillBatches(texts, limits).map((batch) => `[${batch.join(',')}]`);
}

/** Merges the entries of each key, in the order of ids. */
function mergeByKey(entries: readonly UsageEntry[]): UsageEntry[] {
  const byId = new Map<string, Usage>();
  for (const entry of entries) {
    byId.set(entry.keyId, mergeUsage(byId.get(entry.keyId), entry));
  }
  const merged = Array.from(byId, ([keyId, usage]) => ({ keyId, ...usage }));
  return merged.sort((first, second) => (first.keyId < second.keyId ? -1 : 1));
}

/** Puts texts into batches, in order. A text that is too long gets its own batch. */
function fillBatches(texts: readonly string[], limits: UsageLimits): string[][] {
  const batches: string[][] = [];
  let batch: string[] = [];
  let size = 0;
  for (const text of texts) {
    // Plus one for the comma before it.
    const isFull = batch.length === limits.keys || size + 1 + text.length > limits.characters;
    if (batch.length > 0 && isFull) {
      batches.push(batch);
      batch = [];
      size = 0;
    }
    size += batch.length === 0 ? text.length : text.length + 1;
    batch.push(text);
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}
