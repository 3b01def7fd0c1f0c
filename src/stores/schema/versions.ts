/** What the schemas of all databases share. */

/** The statements that migrate each version to the next, oldest first. */
export type Versions = readonly (readonly string[])[];

/** The error of the triggers if an update changes anything else. */
export const ONLY_MARKS_AND_USAGE: string =
  'only revoked_at, retire_at, last_used_at and scopes_used of a key ever change';
