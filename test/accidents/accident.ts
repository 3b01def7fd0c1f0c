/** What an accident is, to those that stage one and to the command that plays them all. */
import type { Ways } from './stream.ts';

/** A server of the accident's own, and the ways of two processes to it. */
export interface Stage extends Ways {
  /** What happens. Settles when it has: a takeover that follows may still be under way. */
  strike(): Promise<void>;
  /** What ends it, where it does not end by itself. */
  mend?(): Promise<void>;
  /** What comes back once all is whole again, such as a primary that was replaced. */
  comeBack?(): Promise<void>;
  /** Removes all that was started. */
  close(): Promise<void>;
}

/** Something that happens to a database sooner or later. */
export interface Accident {
  /** As the table calls it, with its version where one matters. */
  readonly engine: string;
  /** What happens, in words: `the primary is killed, and its standby promoted`. */
  readonly name: string;
  /** How long it lasts before it is mended, in milliseconds. */
  readonly lastsMs: number;
  /** Played only when all are. */
  readonly isLong?: true;
  /**
   * Why an answered write can be lost here, as the engine's manual says. Without it, one that is
   * lost fails the run, and so does a key that is let in.
   */
  readonly mayLose?: string;
  /** What is not installed, if anything: then it is skipped by name; with `CI=true` it fails. */
  readonly missing?: string | undefined;
  open(): Promise<Stage>;
}
