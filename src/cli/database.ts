/** What the command may ask a database beyond its store. */
import { MIGRATIONS } from '../stores/schema/migrations.js';

/** A database, as `migrate` and `doctor` ask it. Each rejects with the driver's own error. */
export interface Database {
  /** Creates what the store needs, or brings it to the version of this release. */
  migrate(): Promise<void>;
  /** The version of the schema, which is 0 where there is none, and the oldest that reads it. */
  version(): Promise<{ readonly version: number; readonly minReader: number }>;
  /** Its clock, in milliseconds since the epoch; null where it has the clock of this machine. */
  clock(): Promise<number | null>;
  /** Whether this is the one that is written to. */
  isPrimary(): Promise<boolean>;
  /** The names of the triggers that are missing; null where there can be none. */
  missingTriggers(): Promise<readonly string[] | null>;
  /** How many connections it may have at most; null where nobody can tell. */
  readonly poolSize: number | null;
}

/** The version that this release has. */
export const KNOWN_VERSION: number = MIGRATIONS.postgres.length;
