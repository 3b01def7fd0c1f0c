/** A safeguard, and the edit that switches it off. */
export interface Safeguard {
  readonly name: string;
  readonly file: string;
  /** The text to replace, which occurs in the file exactly once. */
  readonly text: string;
  /** The replacement that switches the safeguard off. */
  readonly instead: string;
  /** The tests that should notice it. Default: all that need no server. */
  readonly tests?: string;
}
