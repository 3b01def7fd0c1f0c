/** The type of an accident, between the files that stage one and the command that plays all. */
import type { Ways } from './stream.ts';

/** A server that only this accident uses, and the stores of two processes over it. */
export interface Stage extends Ways {
  /** Causes the accident. A takeover that follows may still be in progress when this resolves. */
  strike(): Promise<void>;
  /** Ends the accident, if it does not end without help. */
  mend?(): Promise<void>;
  /** Brings back, for example, a primary that was replaced, once everything works again. */
  comeBack?(): Promise<void>;
  /** Removes everything that was started. */
  close(): Promise<void>;
}

/** A failure that a database meets sooner or later. */
export interface Accident {
  /** The name in the table, with a version where it matters. */
  readonly engine: string;
  /** In words: `the primary is killed, and its standby promoted`. */
  readonly name: string;
  /** Milliseconds before `mend`. */
  readonly lastsMs: number;
  /** Left out by `--quick`. */
  readonly isLong?: true;
  /**
   * Why the engine can lose an answered write here, according to its manual. Without this, a lost
   * write fails the run, and so does a key that is let in.
   */
  readonly mayLose?: string;
  /** A program that is not installed. The run then skips the accident; with `CI=true` it fails. */
  readonly missing?: string | undefined;
  open(): Promise<Stage>;
}
