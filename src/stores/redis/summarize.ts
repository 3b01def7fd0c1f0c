/** How many live keys each digest scheme has. */
import type { KeyRecord } from '../../core/record.js';
import type { SchemeSummary } from '../../core/store.js';
import { isText } from '../bindable.js';
import { limitConcurrency } from './concurrency.js';
import type { Keys } from './layout.js';
import type { Link } from './link.js';
import { walkMembers, walkRecords } from './walk.js';

/** How many entities are read at once, and how many records of each. */
const ENTITIES_AT_ONCE = 50;
const RECORDS_AT_ONCE = 100;

type Summaries = Map<string, SchemeSummary>;

/**
 * Reads every record: which ones are live depends on `now`, and an index across slots could not be
 * kept consistent.
 */
export async function summarize(link: Link, keys: Keys, now: number): Promise<SchemeSummary[]> {
  const summaries: Summaries = new Map();
  const limited = limitConcurrency(link);

  async function addEntity(entityUuid: string): Promise<void> {
    const all = { from: '+', size: RECORDS_AT_ONCE };
    for await (const rows of walkRecords(limited, keys, entityUuid, all)) {
      for (const row of rows) addIfLive(summaries, row, now);
    }
  }

  const entities = { from: '-', to: ['+', 'BYLEX'], size: ENTITIES_AT_ONCE };
  for await (const members of walkMembers(limited, keys.entities, entities)) {
    await Promise.all(members.map(addEntity));
  }
  return [...summaries.values()];
}

/** Adds a record to its scheme's summary if it is live. A malformed one is not live. */
function addIfLive(summaries: Summaries, row: KeyRecord, now: number): void {
  const isAhead = (deadline: number | null) => deadline === null || now < deadline;
  const isLive = row.revokedAt === null && isAhead(row.retireAt) && isAhead(row.expiresAt);
  if (!isLive || !isText(row.digest)) return;
  const scheme = row.digest.slice(0, row.digest.indexOf('$'));
  const summary = summaries.get(scheme);
  const live = (summary?.live ?? 0) + 1;
  summaries.set(scheme, { scheme, live, lastUsedAt: later(summary?.lastUsedAt, row.lastUsedAt) });
}

/** The later of two times, either of which may be missing. */
function later(known: number | null | undefined, used: number | null): number | null {
  const times = [known, used].filter((time) => typeof time === 'number');
  return times.length === 0 ? null : Math.max(...times);
}
