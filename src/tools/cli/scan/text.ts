/** What is looked through: files, objects of git, standard input. */

/** One text, in pieces. */
export interface Text {
  /** As it was given or found, with `/`; `-` for standard input; null for what has no path. */
  readonly path: string | null;
  /** The object of git that it is. */
  readonly object: GitObject | null;
  /** Its bytes. Each piece is valid until the next one is asked for. */
  readonly pieces: AsyncIterable<Uint8Array>;
}

/** A blob, a commit or a tag. */
export interface GitObject {
  readonly id: string;
  readonly type: string;
}
