/** The version of the schema that a database has. */

/**
 * The version of the schema that was read in `place`, 0 if there is none. Throws if a newer release
 * has migrated it.
 *
 * @param read What the database answered, as a number or as text.
 * @param known The version that this release migrates to.
 * @param place What is named in the error.
 */
export function readSchemaVersion(
  read: unknown,
  known: number,
  place: string = 'the database',
): number {
  const version = Number(read ?? 0);
  if (version <= known) return version;
  throw new Error(
    `keyscope: ${place} has schema ${version} and this release knows ${known}; upgrade it`,
  );
}
