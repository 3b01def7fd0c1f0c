/** What the schemas of all databases share. */

/** The statements that migrate each version to the next, oldest first. */
export type Versions = readonly (readonly string[])[];

/**
 * For each version, the oldest version whose releases still work with it. An additive version keeps
 * the number of the one before, so that a roll-out and a roll-back lock no process out.
 */
export const MIN_READERS: readonly number[] = [1];

/** The error of the triggers if an update changes what never changes. */
export const NEVER_CHANGES: string =
  'only the marks and the usage of a key ever change; the seal only as it is revoked';

/** The error of the triggers if an update undoes a mark. */
export const MARKS_STAY: string =
  'revoked_at, retire_at and withdrawn are never undone, and a revoked key is not marked again';

/** The error of the triggers if a row is deleted. */
export const NEVER_DELETED: string = 'keys are revoked and never deleted; see purgeEnded';
