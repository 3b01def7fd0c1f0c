/**
 * Which values fit the columns. Checked here, because unless the SQL mode is strict, a longer text
 * is truncated, and a value of another type is stored as text.
 */
import type { KeyRecord } from '../../core/record.js';
import { isUuid } from '../../core/uuid.js';

/** Whether `value` fits a column for a digest or a seal: printable ASCII, at most 255 bytes. */
export function isDigest(value: unknown): value is string {
  return typeof value === 'string' && /^[ -~]{1,255}$/.test(value);
}

/** A field whose column accepts less than the field's type. */
interface NarrowField {
  readonly field: keyof KeyRecord;
  readonly fits: (value: unknown) => boolean;
}

const NARROW_FIELDS: readonly NarrowField[] = [
  { field: 'keyId', fits: isUuid },
  { field: 'digest', fits: isDigest },
  { field: 'seal', fits: (value) => value === null || isDigest(value) },
  { field: 'entityUuid', fits: isUuid },
  { field: 'rotatedFrom', fits: (value) => value === null || isUuid(value) },
];

/** Throws if a field does not fit its column. */
export function assertFits(record: KeyRecord): void {
  const unfit = NARROW_FIELDS.find(({ field, fits }) => !fits(record[field]));
  if (unfit !== undefined) {
    throw new Error(`keyscope: insert: ${unfit.field} does not fit its column`);
  }
}
