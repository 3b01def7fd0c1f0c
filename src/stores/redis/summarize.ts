/** How many live keys each digest scheme has. */
import type { KeyRecord } from '../../core/record.js';
import type { SchemeSummary } from '../../core/store.js';
import { MAX_AT_ONCE } from './concurrency.js';
import { type HashField, parseField } from './fields.js';
import { isWrongType, type Link, readFrom } from './link.js';
import type { Entry, Keys } from './schema.js';
import { walkEntries } from './walk.js';

/** What counts of a record: reading all of it takes three times as long. */
const FIELDS = ['keyId', 'digest', 'revokedAt', 'retireAt', 'expiresAt', 'lastUsedAt'] as const;

type Row = Pick<KeyRecord, (typeof FIELDS)[number]>;
type Summaries = Map<string, SchemeSummary>;

/** Reads every record: which ones are live depends on `now`. */
export async function summarize(link: Link, keys: Keys, now: number): Promise<SchemeSummary[]> {
  const summaries: Summaries = new Map();
  const all = { from: '-', to: '+', size: MAX_AT_ONCE };
  for await (const entries of walkEntries(link, keys.expiry, all)) {
    const rows = await Promise.all(entries.map((entry) => readRow(link, keys, entry)));
    for (const row of rows) addIfLive(summaries, row, now);
  }
  return [...summaries.values()];
}

/** Empty if the entry leads to no record, or to that of another key. */
async function readRow(link: Link, keys: Keys, { keyId, digest }: Entry): Promise<Partial<Row>> {
  const values = await readValues(link, keys.record(digest));
  const row: Partial<Record<HashField, unknown>> = {};
  for (const [index, field] of FIELDS.entries()) row[field] = parseField(values[index]);
  return row.keyId === keyId && row.digest === digest ? (row as Row) : {};
}

async function readValues(link: Link, record: string): Promise<readonly unknown[]> {
  try {
    return (await readFrom(link, record, 'HMGET', ...FIELDS)) as readonly unknown[];
  } catch (error) {
    if (!isWrongType(error)) throw error;
    return [];
  }
}

/** Adds a record to its scheme's summary if it is live. A malformed one is not live. */
function addIfLive(summaries: Summaries, row: Partial<Row>, now: number): void {
  const { digest, revokedAt, retireAt, expiresAt, lastUsedAt = null } = row;
  const isLive = revokedAt === null && isAhead(retireAt, now) && isAhead(expiresAt, now);
  if (!isLive || digest === undefined) return;
  const scheme = digest.slice(0, digest.indexOf('$'));
  const summary = summaries.get(scheme);
  const live = (summary?.live ?? 0) + 1;
  summaries.set(scheme, { scheme, live, lastUsedAt: later(summary?.lastUsedAt, lastUsedAt) });
}

function isAhead(deadline: number | null | undefined, now: number): boolean {
  return deadline === null || (deadline !== undefined && now < deadline);
}

/** The later of two times, either of which may be missing. */
function later(known: number | null | undefined, used: number | null): number | null {
  const times = [known, used].filter((time) => typeof time === 'number');
  return times.length === 0 ? null : Math.max(...times);
}
