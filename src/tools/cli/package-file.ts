/** Files of the package that are not code. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

// By package name, because the distance to the root differs between builds.
const MANIFEST = createRequire(import.meta.url).resolve('keyscope/package.json');

/** Reads a file of the package. */
export function readPackageFile(path: string): string {
  return readFileSync(join(dirname(MANIFEST), path), 'utf8');
}

/** The version of the package. */
export function readVersion(): string {
  const { version } = JSON.parse(readPackageFile('package.json')) as { readonly version: string };
  return version;
}
