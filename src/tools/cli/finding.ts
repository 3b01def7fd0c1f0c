/** What `keyscope doctor` says. */

/** What is said of a check. A check that cannot be made is `not known`, and never `ok`. */
export type State = 'ok' | 'to do' | 'not known';

/** One line of the result. */
export interface Finding {
  readonly check: string;
  readonly state: State;
  /** What was seen, or what to do. */
  readonly what: string;
}

/** What is said of one check, without its name. */
export type Verdict = readonly [state: State, what: string];
