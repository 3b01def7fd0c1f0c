/** A temporary folder for the files of one test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Folder {
  /** The path of a file in the folder. An empty name yields the folder itself. */
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
