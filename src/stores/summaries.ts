/** How many live keys each digest scheme has, for stores whose database does not count them. */
import type { KeyRecord } from '../core/record.js';
import type { SchemeSummary } from '../core/store.js';

/** The summary of each scheme, by its name. */
export type Summaries = Map<string, SchemeSummary>;

/** What counts of a record. A damaged one may lack some of it, and is then not live. */
type Counted = Partial<
  Pick<KeyRecord, 'digest' | 'revokedAt' | 'retireAt' | 'expiresAt' | 'lastUsedAt'>
>;

/** Adds a record to the summary of its scheme if it is live at the time `now`. */
export function addIfLive(summaries: Summaries, record: Counted, now: number): void {
  const { digest, revokedAt, retireAt, expiresAt, lastUsedAt = null } = record;
  const isLive = revokedAt === null && isAhead(retireAt, now) && isAhead(expiresAt, now);
  if (!isLive || digest === undefined) return;
  const scheme = digest.slice(0, digest.indexOf('$'));
  const summary = summaries.get(scheme);
  const live = (summary?.live ?? 0) + 1;
  summaries.set(scheme, { scheme, live, lastUsedAt: later(summary?.lastUsedAt, lastUsedAt) });
}

/** Deadlines are exclusive. */
function isAhead(deadline: number | null | undefined, now: number): boolean {
  return deadline === null || (deadline !== undefined && now < deadline);
}

/** The later of two times, either of which may be missing. */
function later(known: number | null | undefined, used: number | null): number | null {
  const times = [known, used].filter((time) => typeof time === 'number');
  return times.length === 0 ? null : Math.max(...times);
}
