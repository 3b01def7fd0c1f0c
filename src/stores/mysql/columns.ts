/**
 * Checks that values fit their columns. The server would not: unless the SQL mode is strict, it
 * truncates a longer text and stores a value of another type as text.
 */
import { isEntityId } from '../../core/entity.js';
import type { KeyRecord } from '../../core/record.js';
import type { Mark } from '../../core/store.js';
import { isUuid } from '../../core/uuid.js';

/**
 * Checks whether `value` fits a column for a digest or a seal: printable ASCII, at most 255 bytes.
 */
export function isDigest(value: unknown): value is string {
  return typeof value === 'string' && /^[ -~]{1,255}$/.test(value);
}

/** Checks whether `value` fits the column for prefixes: ASCII without spaces, at most 20 bytes. */
export function isPrefix(value: unknown): value is string {
  return typeof value === 'string' && /^[!-~]{1,20}$/.test(value);
}

/** The hint is empty if the key's text is unknown. */
function isHint(value: unknown): boolean {
  return value === '' || isPrefix(value);
}

function isUuidOrNull(value: unknown): boolean {
  return value === null || isUuid(value);
}

function isSeal(value: unknown): boolean {
  return value === null || isDigest(value);
}

/** A field whose column accepts less than the field's type. */
interface NarrowField {
  readonly field: keyof KeyRecord;
  readonly fits: (value: unknown) => boolean;
}

const NARROW_FIELDS: readonly NarrowField[] = [
  { field: 'keyId', fits: isUuid },
  { field: 'prefix', fits: isPrefix },
  { field: 'hint', fits: isHint },
  { field: 'digest', fits: isDigest },
  { field: 'entityId', fits: isEntityId },
  { field: 'accessibleEntities', fits: (list) => Array.isArray(list) && list.every(isEntityId) },
  { field: 'rotatedFrom', fits: isUuidOrNull },
  { field: 'rootKeyId', fits: isUuid },
  { field: 'issuedUnder', fits: isUuidOrNull },
  { field: 'seal', fits: isSeal },
];

/** Throws if a field does not fit its column. */
export function assertFits(record: KeyRecord): void {
  const unfit = NARROW_FIELDS.find(({ field, fits }) => !fits(record[field]));
  if (unfit !== undefined) {
    throw new Error(`keyscope: insert: ${unfit.field} does not fit its column`);
  }
}

/** Throws if a value that a mark writes does not fit its column. */
export function assertMarkFits(mark: Mark): void {
  if (mark.kind === 'revoke' && !isSeal(mark.seal ?? null)) {
    throw new Error('keyscope: mark: seal does not fit its column');
  }
  if (mark.kind === 'withdraw' && !isEntityId(mark.entityId)) {
    throw new Error('keyscope: mark: entityId does not fit its column');
  }
}
