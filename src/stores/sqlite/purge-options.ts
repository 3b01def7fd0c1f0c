/** What `purgeEnded` takes, for a SQLite file and for D1. */
import { assert, readFields } from '../../core/input.js';

/** Which rows `purgeEnded` deletes. */
export interface PurgeOptions {
  /** Only those of keys that ended before this time. Not in the future. */
  readonly endedBefore: Date;
}

/** At most this many rows are deleted in one transaction: other writers wait for its end. */
export const PURGE_BATCH = 500;

/** Milliseconds. Throws a `TypeError` unless it is a valid `Date` that is not in the future. */
export function readEndedBefore(options: PurgeOptions): number {
  const { endedBefore } = readFields(options, ['endedBefore'], 'purgeEnded');
  const instead = 'purgeEnded: endedBefore: pass a valid Date that is not in the future';
  assert(endedBefore instanceof Date, instead);
  const time = new Date(endedBefore).getTime();
  // NaN if the date is invalid, and then the comparison is false.
  assert(time <= Date.now(), instead);
  return time;
}

/** The id in a row that `findPurgeable` or `purge` returned. */
export function toKeyId(row: unknown): string {
  return (row as { readonly keyId: string }).keyId;
}
