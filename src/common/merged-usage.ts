/** What two uses of a key come to: stores keep it, and caches show it before they are asked. */
import type { KeyRecord, Usage } from '../core/record.js';

/** The later of both times, for the key and for each scope. */
export function mergeUsage(
  old: Pick<KeyRecord, keyof Usage> | undefined,
  { lastUsedAt, scopesUsed }: Usage,
): Usage {
  const merged: Record<string, number> = { ...old?.scopesUsed };
  for (const [scope, time] of Object.entries(scopesUsed)) {
    merged[scope] = Math.max(merged[scope] ?? time, time);
  }
  return { lastUsedAt: Math.max(old?.lastUsedAt ?? lastUsedAt, lastUsedAt), scopesUsed: merged };
}
