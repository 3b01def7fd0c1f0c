/** Reads the version of the schema in a database. */

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
