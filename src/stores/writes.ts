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
 * entry per key, because an UPDATE writes each row only once. Invalid ids are left out.
 */
export function usageBatches(
  entries: readonly UsageEntry[],
  isId: (keyId: unknown) => boolean,
  limits: UsageLimits = LIMITS,
): string[] {
  const merged = mergeByKey(entries.filter((entry) => isId(entry.keyId)));
  const texts = merged.map((entry) => JSON.stringify(entry));
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
  /** The characters of the last batch. */
  let size = 0;
  for (const text of texts) {
    const last = batches.at(-1);
    // Plus one for the comma before it.
    size += 1 + text.length;
    if (last === undefined || last.length === limits.keys || size > limits.characters) {
      batches.push([text]);
      size = text.length;
    } else {
      last.push(text);
    }
  }
  return batches;
}
