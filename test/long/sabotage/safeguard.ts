/** A safeguard, and how to switch it off. */
export interface Safeguard {
  readonly name: string;
  readonly file: string;
  /** Occurs in the file exactly once. */
  readonly text: string;
  /** Replaces the text to switch the safeguard off. */
  readonly instead: string;
  /** The tests that should notice. Default: all that need no server. */
  readonly tests?: string;
}
