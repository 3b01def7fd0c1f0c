/** Counts the live keys of each digest scheme. */
import { isUnended, type KeyRecord } from '../core/record.js';
import type { Awaitable, CallOptions, SchemeSummary } from '../core/store.js';
import { untilNextTurn } from '../core/thenable.js';
import { latest } from '../core/times.js';

/** The summary of each scheme, by its name. */
export type Summaries = Map<string, SchemeSummary>;

/** The fields of a record that count. A damaged record may lack some, and is then not live. */
type Counted = Partial<
  Pick<KeyRecord, 'digest' | 'revokedAt' | 'retireAt' | 'expiresAt' | 'lastUsedAt'>
>;

/** Adds a record to the summary of its scheme if it is live at the time `now`. */
export function addIfLive(summaries: Summaries, record: Counted, now: number): void {
  const { digest, lastUsedAt = null } = record;
  if (digest === undefined || !isUnended(record, now)) return;
  add(summaries, { scheme: digest.slice(0, digest.indexOf('$')), live: 1, lastUsedAt });
}

function add(summaries: Summaries, { scheme, live, lastUsedAt }: SchemeSummary): void {
  if (live === 0) return;
  const known = summaries.get(scheme);
  // A damaged row may have something else in its place.
  const used = typeof lastUsedAt === 'number' ? lastUsedAt : null;
  summaries.set(scheme, {
    scheme,
    live: live + (known?.live ?? 0),
    lastUsedAt: latest(known?.lastUsedAt ?? null, used),
  });
}

// ── Summaries in parts ───────────────────────────────────────────────────────────────────────────

/**
 * How many rows one statement counts. Counting a large table in one statement takes seconds: a time
 * limit may end it, and a synchronous driver would block the service.
 */
export const PART_SIZE = 2_000;

/** The summary of the keys of one scheme in a part of the table. */
export interface PartSummary extends SchemeSummary {
  /** How many keys there are, live or not. */
  readonly keys: number;
  /** The greatest key id among them. */
  readonly lastId: string;
}

/**
 * Counts the keys of a table part by part, in the order of their ids. A key that is created or ends
 * meanwhile may or may not count.
 *
 * @param readPart Counts the next {@link PART_SIZE} keys after an id.
 */
export async function summarizeInParts(
  readPart: (afterId: string) => Awaitable<readonly PartSummary[]>,
  options: CallOptions,
): Promise<readonly SchemeSummary[]> {
  const summaries: Summaries = new Map();
  let afterId = '';
  for (;;) {
    options.signal?.throwIfAborted();
    let keys = 0;
    for (const summary of await readPart(afterId)) {
      add(summaries, summary);
      keys += summary.keys;
      if (summary.lastId > afterId) afterId = summary.lastId;
    }
    if (keys < PART_SIZE) return [...summaries.values()];
    await untilNextTurn();
  }
}
