/** Packages that only one test folder installs, and that have no types here. */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { describe } from 'vitest';

const { CI } = process.env;

/** The packages of one folder. */
export interface Installed {
  /**
   * `describe` for tests that need them. If they are not installed, the tests are skipped under
   * their names; with `CI=true` they fail.
   */
  readonly describe: typeof describe.skip;
  /** Imports a package. */
  readonly load: (name: string) => Promise<unknown>;
}

/** The packages of a folder under `test`. `name` is one of them. */
export function installedIn(folder: string, name: string): Installed {
  const { resolve } = createRequire(new URL(`../${folder}/package.json`, import.meta.url));
  const isThere = (): boolean => {
    try {
      return resolve(name) !== '';
    } catch {
      return false;
    }
  };
  return {
    describe: isThere() || CI === 'true' ? describe : describe.skip,
    load: (wanted) => import(pathToFileURL(resolve(wanted)).href),
  };
}
