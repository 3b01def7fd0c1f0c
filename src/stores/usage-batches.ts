/** What `touch` is given, in parts that fit one statement. */
import type { Usage } from '../core/record.js';
import type { UsageEntry } from '../core/store.js';
import { mergeUsage } from '../core/usage.js';

/**
 * At most this many keys, and this many characters, are sent in one statement: it fits if a packet
 * may have 1 MiB.
 */
const [MOST_KEYS, MOST_TEXT] = [1000, 1_000_000];

/**
 * What `touch` is given, as JSON lists that each fit one statement: one entry per key, because an
 * UPDATE writes each row once, and sorted by id. Invalid ids are left out. `shape`: what the
 * statement reads of an entry.
 */
export function usageBatches(
  entries: readonly UsageEntry[],
  isId: (keyId: unknown) => boolean,
  shape: (entry: UsageEntry) => unknown = (entry) => entry,
): string[] {
  const merged = new Map<string, Usage>();
  for (const entry of entries) {
    if (isId(entry.keyId)) merged.set(entry.keyId, mergeUsage(merged.get(entry.keyId), entry));
  }
  const batches: string[][] = [];
  // Full, so that the first entry opens a new one.
  let [batch, size]: [string[], number] = [[], MOST_TEXT];
  for (const [keyId, usage] of [...merged].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const text = JSON.stringify(shape({ keyId, ...usage }));
    size += text.length + 1;
    if (size > MOST_TEXT || batch.length === MOST_KEYS) {
      [batch, size] = [[], text.length];
      batches.push(batch);
    }
    batch.push(text);
  }
  return batches.map((texts) => `[${texts.join()}]`);
}
