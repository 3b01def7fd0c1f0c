/** What the package has beside its code. */
import { readFileSync } from 'node:fs';

/** Reads a file of the package, which is two folders above this one in every build. */
export function readPackageFile(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}

/** The version of the package. */
export function readVersion(): string {
  const { version } = JSON.parse(readPackageFile('package.json')) as { readonly version: string };
  return version;
}
