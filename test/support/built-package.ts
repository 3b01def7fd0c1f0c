/**
 * Builds the package in a separate folder, because `dist` of the checkout could be stale. A module
 * in that folder imports `keyscope` like a user's.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { folder } from './folder.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface BuiltPackage {
  /** The folder of its `package.json`. */
  readonly path: string;
  /** The sources of each file of `dist`, by the file's name: `core.js`. */
  readonly sources: ReadonlyMap<string, readonly string[]>;
  /** Returns the text of a file of `dist`. */
  text(name: string): string;
  remove(): void;
}

export function buildPackage(): BuiltPackage {
  const own = folder();
  const dist = own.file('dist');
  // By path, because a test may run without npm's PATH.
  const tsup = join(ROOT, 'node_modules/tsup/dist/cli-default.js');
  execFileSync(process.execPath, [tsup, '--out-dir', dist], { cwd: ROOT, timeout: 120_000 });
  copyFileSync(join(ROOT, 'package.json'), own.file('package.json'));
  symlinkSync(join(ROOT, 'node_modules'), own.file('node_modules'), 'junction');
  const text = (name: string): string => readFileSync(join(dist, name), 'utf8');
  const names = readdirSync(dist).filter((name) => name.endsWith('.js'));
  return {
    path: own.file(''),
    sources: new Map(names.map((name) => [name, sourcesIn(text(name))])),
    text,
    remove: () => own.remove(),
  };
}

/** The bundler names the file above each part, such as `// src/core/key.ts`. */
function sourcesIn(bundle: string): readonly string[] {
  const names = bundle.matchAll(/^\/\/ (?:.*\/)?(src\/.+\.ts)$/gm);
  return Array.from(new Set(Array.from(names, ([, name = '']) => name)));
}
