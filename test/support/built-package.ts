/**
 * The package, freshly built into a separate folder because the checkout's `dist` could be stale.
 * Modules in that folder import `keyscope` as a user's would.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { folder } from './folder.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface BuiltPackage {
  /** The folder that has its `package.json`. */
  readonly path: string;
  /** The sources that went into each file of `dist`, by file name: `core.js`. */
  readonly sources: ReadonlyMap<string, readonly string[]>;
  /** The text of a file of `dist`. */
  text(name: string): string;
  remove(): void;
}

export function buildPackage(): BuiltPackage {
  const own = folder();
  const dist = own.file('dist');
  // Run by path: a test may not have npm's PATH.
  const tsup = join(ROOT, 'node_modules/tsup/dist/cli-default.js');
  execFileSync(process.execPath, [tsup, '--out-dir', dist], { cwd: ROOT });
  copyFileSync(join(ROOT, 'package.json'), own.file('package.json'));
  symlinkSync(join(ROOT, 'node_modules'), own.file('node_modules'), 'junction');
  const text = (name: string): string => readFileSync(join(dist, name), 'utf8');
  const names = readdirSync(dist).filter((name) => name.endsWith('.js'));
  return {
    path: own.file(''),
    sources: new Map(names.map((name) => [name, sourcesIn(text(`${name}.map`))])),
    text,
    remove: () => own.remove(),
  };
}

/** Turns a source map's `../../../src/core/key.ts` into `src/core/key.ts`. */
function sourcesIn(map: string): readonly string[] {
  const { sources } = JSON.parse(map) as { readonly sources: readonly string[] };
  return sources.map((source) => source.replace(/^(?:.*\/)?(src\/)/, '$1'));
}
