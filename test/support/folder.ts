/** A temporary folder for a test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Folder {
  /** Returns the path of a file in it, or of the folder for an empty name. */
  readonly file: (name: string) => string;
  readonly remove: () => void;
}

export function folder(): Folder {
  const path = mkdtempSync(join(tmpdir(), 'keyscope-'));
  return {
    file: (name) => join(path, name),
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}
