/** Counts the keys under each pepper. */
import { assertFunction, isObject, MAX_TIME, readFields } from '../core/input.js';
import { type Clock, readClock, systemClock } from '../core/outage.js';
import type { KeyStore, SchemeSummary } from '../core/store.js';
import { latest } from '../core/times.js';
import { dateOrNull } from '../management/info.js';
import { ask, readTimeout, requireMethod, withinTime } from './ask.js';

/** The options of {@link pepperReport}. */
export interface PepperReportOptions {
  /** Milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: Clock | undefined;
  /** How long the store may take, in milliseconds: 1 to 3,600,000. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
}

/** The live keys under one pepper. */
export interface PepperUse {
  /** `h1.<pepper id>`, `s1`, or `unknown` for all keys whose digest is damaged. */
  readonly scheme: string;
  /** The id of the pepper; null for keys without one. */
  readonly pepper: string | null;
  /** The number of live keys. Suspended keys count, because they can be resumed. */
  readonly live: number;
  /** When one of them was last used; null for never. */
  readonly lastUsedAt: Date | null;
}

/**
 * Counts the live keys of all entities under each pepper. Run it before you remove a pepper, to see
 * how many keys that would end. A pepper without live keys has no row.
 *
 * `lastUsedAt` lacks usage that processes have not written yet; `keyring.flush()` writes that of
 * this process.
 *
 * Not checked: seals; the prefix, so keyrings that share a store are counted together; which
 * peppers are configured.
 *
 * @param store A store with `summarize`.
 * @param options `now`: the keyring's clock. `timeoutMs`: milliseconds.
 * @returns One row for each pepper, and one for keys without a pepper.
 * @throws TypeError if the store lacks `summarize`, or on an unknown or invalid option.
 * @throws StoreError if the store or the clock is broken, or after `timeoutMs`.
 * @example
 * await keyring.flush();
 * const rows = await pepperReport(store);
 * const left = rows.find(({ pepper }) => pepper === '2024')?.live ?? 0;
 */
export async function pepperReport(
  store: KeyStore,
  options: PepperReportOptions = {},
): Promise<readonly PepperUse[]> {
  const given = readFields(options, ['now', 'timeoutMs'], 'pepperReport');
  const offering = requireMethod(store, 'summarize', 'pepperReport');
  const { now = systemClock } = options;
  assertFunction(now, 'now');
  const timeoutMs = readTimeout(given.timeoutMs);
  const time = readClock(now);
  const rows = await withinTime('pepperReport', timeoutMs, (call) =>
    ask('summarize', () => offering.summarize(time, call), areSummaries),
  );
  return Object.freeze(merge(rows).map(toPepperUse));
}

function areSummaries(rows: unknown): boolean {
  // Copied, because `every` would skip holes.
  return Array.isArray(rows) && [...(rows as readonly unknown[])].every(isSummary);
}

function isSummary(row: unknown): boolean {
  if (!isObject(row)) return false;
  const { scheme, live, lastUsedAt } = row as Partial<SchemeSummary>;
  const isCount = Number.isSafeInteger(live) && Number(live) >= 0;
  const isTime = Number.isInteger(lastUsedAt) && Math.abs(Number(lastUsedAt)) <= MAX_TIME;
  return typeof scheme === 'string' && isCount && (lastUsedAt === null || isTime);
}

const SCHEME = /^(?:s1|h1\.[a-z0-9-]{1,32})$/;

/** Merges the rows of a scheme. Edited digests can begin with anything: these become `unknown`. */
function merge(rows: readonly SchemeSummary[]): readonly SchemeSummary[] {
  const merged = new Map<string, SchemeSummary>();
  for (const row of rows) {
    const scheme = SCHEME.test(row.scheme) ? row.scheme : 'unknown';
    const known = merged.get(scheme);
    merged.set(scheme, {
      scheme,
      live: row.live + (known?.live ?? 0),
      lastUsedAt: latest(row.lastUsedAt, known?.lastUsedAt ?? null),
    });
  }
  return [...merged.values()];
}

function toPepperUse({ scheme, live, lastUsedAt }: SchemeSummary): PepperUse {
  return Object.freeze({
    scheme,
    pepper: scheme.startsWith('h1.') ? scheme.slice('h1.'.length) : null,
    live,
    lastUsedAt: dateOrNull(lastUsedAt),
  });
}
