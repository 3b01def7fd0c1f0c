/** Reads the version of the schema in a database. */

/**
 * Returns the version of the schema; 0 if there is none. Throws if a newer release has migrated the
 * database.
 *
 * @param value What the database returned, as a number or as text.
 * @param known The version that this release migrates to.
 * @param place How the error names the database.
 */
export function readSchemaVersion(
  value: unknown,
  known: number,
  place: string = 'the database',
): number {
  const version = Number(value ?? 0);
  if (version <= known) return version;
  throw new Error(
    `keyscope: ${place} has schema ${version} and this release knows ${known}; upgrade it`,
  );
}
