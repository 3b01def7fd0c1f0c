/** The interface between the accidents and the command that plays them. */
import type { Ways } from './stream.ts';

/** A server for one accident, and two processes' connections to it. */
export interface Stage extends Ways {
  /**
   * Causes the accident. Settles once it has happened; a takeover that follows may still be in
   * progress.
   */
  strike(): Promise<void>;
  /** Ends the accident, unless it ends without help. */
  mend?(): Promise<void>;
  /** Brings back what was replaced, for example an old primary, once everything works again. */
  comeBack?(): Promise<void>;
  /** Removes everything that was started. */
  close(): Promise<void>;
}

/** Something that sooner or later happens to a database. */
export interface Accident {
  /** The engine as the table prints it, with its version if that matters. */
  readonly engine: string;
  /** A description: `the primary is killed, and its standby promoted`. */
  readonly name: string;
  /** Milliseconds until it is mended. */
  readonly lastsMs: number;
  /** Only played in a full run. */
  readonly isLong?: true;
  /**
   * Why this accident can lose an acknowledged write, according to the engine's manual. Without a
   * reason, a lost write fails the run, and so does a key that gets in.
   */
  readonly mayLose?: string;
  /**
   * The missing program, if any. Then the accident is skipped under its name; with `CI=true`
   * it fails.
   */
  readonly missing?: string | undefined;
  open(): Promise<Stage>;
}
