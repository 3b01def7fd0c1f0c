/** Reads what the statements answer. Every content is checked by the core. */
import type { KeyRecord } from '../../core/record.js';
import type { ChangedKey, SchemeSummary } from '../../core/store.js';
import type { UnreadRecord } from '../rows.js';
import { IN_TRANSACTION } from './errors.js';
import { REPLICA } from './migrate.js';
import { CHANGED_BY_CLIENT } from './query.js';

/**
 * The values of a row, less the last, which tells whether it may be out of date: every row says so,
 * because a client with several hosts may switch to a replica between two rows of a page.
 */
function readValues(row: unknown): readonly unknown[] {
  if (!Array.isArray(row)) throw new Error(CHANGED_BY_CLIENT);
  const values: readonly unknown[] = row;
  const outdated = values.at(-1);
  if (outdated === 'transaction') throw new Error(IN_TRANSACTION);
  if (outdated !== null) throw new Error(REPLICA);
  return values;
}

/** The record in a row, whose values are in the order of `COLUMN_LIST`. */
export function readRow(row: unknown): KeyRecord {
  const values = readValues(row);
  const record: UnreadRecord = {
    format: values[0],
    keyId: values[1],
    prefix: values[2],
    hint: values[3],
    name: values[4],
    digest: values[5],
    entityUuid: values[6],
    accessibleEntities: values[7],
    scopes: values[8],
    justification: values[9],
    metadata: values[10],
    createdAt: values[11],
    createdBy: values[12],
    expiresAt: values[13],
    rotatedFrom: values[14],
    rootKeyId: values[15],
    delegation: values[16],
    seal: values[17],
    revokedAt: values[18],
    suspendedAt: values[19],
    retireAt: values[20],
    withdrawn: values[21],
    endedBy: values[22],
    endReason: values[23],
    changedAt: values[24],
    lastUsedAt: values[25],
    scopesUsed: values[26],
  };
  return record as unknown as KeyRecord;
}

/** A digest scheme and its live keys. */
export function readSummary(row: unknown): SchemeSummary {
  const values = readValues(row);
  const summary = { scheme: values[0], live: values[1], lastUsedAt: values[2] };
  return summary as SchemeSummary;
}

/** The keys in the one row of what has changed. */
export function readChanged(rows: readonly unknown[]): readonly ChangedKey[] {
  const values = readValues(rows[0]);
  return values[0] as readonly ChangedKey[];
}
