/**
 * The schema versions of all databases: how they follow each other, and which ones a release
 * rejects.
 */
import { assert, readFields } from '../../core/input.js';

/** The statements that migrate each version to the next, oldest first. */
export type Versions = readonly (readonly string[])[];

/**
 * For each version, the oldest version whose releases still work with it. A version that only adds
 * keeps the number of the version before, so that neither a roll-out nor a roll-back locks a
 * process out.
 */
export const MIN_READERS: readonly number[] = [1];

/** Returns the oldest version whose releases work with `version`; by default, `version` itself. */
export function minReaderOf(version: number): number {
  return MIN_READERS[version - 1] ?? version;
}

// ── The database's version ───────────────────────────────────────────────────────────────────────

/** The row of `keyscope_schema` as the database returned it: numbers or text. */
interface SchemaRow {
  readonly version?: unknown;
  /** The oldest version whose releases still work with the schema. */
  readonly minReader?: unknown;
}

/**
 * Returns the version from which this release has to migrate, or 0 without a schema. Returns
 * `known` if there is nothing to do, for example because a newer release has migrated the database
 * and this one still works with it. Throws if it does not.
 *
 * @param row The row that the database returned, or `undefined` if it has none.
 * @param known The version that this release migrates to.
 * @param place The database's name in the error.
 */
export function readSchemaVersion(
  row: SchemaRow | null | undefined,
  known: number,
  place: string = 'the database',
): number {
  const version = Number(row?.version ?? 0);
  const minReader = Number(row?.minReader ?? 0);
  if (version <= known) return version;
  if (minReader <= known) return known;
  throw new Error(
    `keyscope: ${place} has schema version ${version}, which needs a release that knows ` +
      `version ${minReader} or later; this release knows ${known}. Upgrade keyscope`,
  );
}

// ── Options ──────────────────────────────────────────────────────────────────────────────────────

/** The options of the schema of MySQL and MariaDB. */
export interface SchemaOptions {
  /**
   * If false, the schema has no triggers, for servers without them and users who may not create
   * them. Anyone who can write to the table can then change what keys may do (unless a pepper seals
   * it), undo marks, and delete keys at any time. An audit log may then name keys that no longer
   * exist. Default: true.
   */
  readonly triggers?: boolean | undefined;
}

/** Returns whether the schema has triggers. Throws a `TypeError` on an unknown or wrong option. */
export function readTriggers(options: SchemaOptions, where: string): boolean {
  const { triggers = true } = readFields(options, ['triggers'], where);
  assert(typeof triggers === 'boolean', `${where}: triggers: pass true or false`);
  return triggers;
}

// ── Parts of statements ─────────────────────────────────────────────────────────────────────────

/** A condition: `column` is null, or a time that a `Date` can hold. */
export function isTime(column: string): string {
  return `${column} BETWEEN -8640000000000000 AND 8640000000000000`;
}

/** The triggers' error if an update changes a field that never changes. */
export const NEVER_CHANGES: string =
  'only the marks and the usage of a key ever change; the seal only as it is revoked';

/** The triggers' error if an update undoes a mark. */
export const MARKS_STAY: string =
  'revoked_at, retire_at and withdrawn are never undone, and a revoked key is not marked again';

/** The triggers' error if a statement deletes a row. */
export const NEVER_DELETED: string = 'keys are revoked and never deleted; see purgeEnded';

/** The triggers' error if an update changes a field that belongs to a mark, without a mark. */
export const WITH_A_MARK: string =
  'ended_by, end_reason and changed_at change only together with a mark';
