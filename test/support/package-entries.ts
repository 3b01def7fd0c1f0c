/** The package's entries from `package.json`, with the source of each. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface PackageEntry {
  /** `.` or `./lock`, as in `exports`. */
  readonly name: string;
  /** The specifier that users import: `keyscope` or `keyscope/lock`. */
  readonly specifier: string;
  /** Relative to the project's root: `src/tools/lock/index.ts`. */
  readonly source: string;
  /** Its file name in `dist`: `lock`. */
  readonly output: string;
}

const MANIFEST = fileURLToPath(new URL('../../package.json', import.meta.url));

export function packageEntries(): readonly PackageEntry[] {
  const { exports } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as {
    readonly exports: Readonly<
      Record<string, string | { readonly types: string; readonly default: string }>
    >;
  };
  return Object.entries(exports).flatMap(([name, entry]) => {
    if (typeof entry === 'string') return [];
    const source = entry.types.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts');
    const output = entry.default.replace(/^\.\/dist\/(.+)\.js$/, '$1');
    return [{ name, specifier: `keyscope${name.slice(1)}`, source, output }];
  });
}
