/** A safeguard, and how it is switched off. */
export interface Safeguard {
  readonly name: string;
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly text: string;
  /** What stands in its place when the safeguard is off. */
  readonly instead: string;
  /** The tests that are to notice. Default: all that need no server. */
  readonly tests?: string;
}
