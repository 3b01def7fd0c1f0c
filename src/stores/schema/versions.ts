/** What the schemas of all databases share: how versions follow each other, and what is refused. */
import { assert, readFields } from '../../core/input.js';

/** The statements that migrate each version to the next, oldest first. */
export type Versions = readonly (readonly string[])[];

/**
 * For each version, the oldest version whose releases still work with it. An additive version keeps
 * the number of the one before, so that a roll-out and a roll-back lock no process out.
 */
export const MIN_READERS: readonly number[] = [1];

/** The oldest version whose releases work with `version`; if nobody has said, `version` itself. */
export function minReaderOf(version: number): number {
  return MIN_READERS[version - 1] ?? version;
}

// ── What the database has ───────────────────────────────────────────────────────────────────────

/** What the table `keyscope_schema` says, as the database returned it: numbers or text. */
interface SchemaRow {
  readonly version?: unknown;
  /** The oldest version whose releases still work with the schema. */
  readonly minReader?: unknown;
}

/**
 * Returns the version from which this release has to migrate, 0 if there is no schema; `known` if
 * there is nothing to do, also if a newer release has migrated the database and this one still
 * works with it. Throws if it does not.
 *
 * @param row What the database returned; `undefined` if it has no such row.
 * @param known The version that this release migrates to.
 * @param place How the error names the database.
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
    `keyscope: ${place} has schema ${version}, for releases that know ${minReader} or later; ` +
      `this one knows ${known}: upgrade it`,
  );
}

// ── What a service asks for ─────────────────────────────────────────────────────────────────────

/** What the schema has. */
export interface SchemaOptions {
  /**
   * If false, the schema has no triggers, for servers that have none or users that may make none.
   * Then whoever may write the table can also change what keys may do, as far as no pepper seals
   * it, undo marks, and delete keys, whenever they ended: an audit log may name keys that are not
   * there. Default: true.
   */
  readonly triggers?: boolean | undefined;
}

/** Whether the schema is to have triggers. Throws a `TypeError` on an unknown or wrong option. */
export function readTriggers(options: SchemaOptions, where: string): boolean {
  const { triggers = true } = readFields(options, ['triggers'], where);
  assert(typeof triggers === 'boolean', `${where}: triggers is true or false`);
  return triggers;
}

// ── Parts of statements ─────────────────────────────────────────────────────────────────────────

/** A condition: `column` is a time that a `Date` can hold, or null. */
export function isTime(column: string): string {
  return `${column} BETWEEN -8640000000000000 AND 8640000000000000`;
}

/** The error of the triggers if an update changes what never changes. */
export const NEVER_CHANGES: string =
  'only the marks and the usage of a key ever change; the seal only as it is revoked';

/** The error of the triggers if an update undoes a mark. */
export const MARKS_STAY: string =
  'revoked_at, retire_at and withdrawn are never undone, and a revoked key is not marked again';

/** The error of the triggers if a row is deleted. */
export const NEVER_DELETED: string = 'keys are revoked and never deleted; see purgeEnded';

/** The error of the triggers if an update changes what goes with a mark, and no mark. */
export const WITH_A_MARK: string =
  'ended_by, end_reason and changed_at change only together with a mark';
