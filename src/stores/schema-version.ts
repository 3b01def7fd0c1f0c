/** The version of the schema that a database has. */

/**
 * The version of the schema that was read in `place`, 0 if there is none. Throws if a newer release
 * has migrated it.
 */
export function knownVersion(read: unknown, known: number, place = 'the database'): number {
  const version = Number(read ?? 0);
  if (version <= known) return version;
  throw new Error(
    `keyscope: ${place} has schema ${version} and this release knows ${known}; upgrade it`,
  );
}
