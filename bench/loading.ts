/**
 * The size of `import 'keyscope'` on Node and in a bundle, and the time a process takes to start.
 * Bytes are exact: `test/size.test.ts` holds them to a bound.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));

// ── Bytes ────────────────────────────────────────────────────────────────────────────────────────

export interface Bundle {
  readonly code: string;
  readonly minified: number;
  readonly gzipped: number;
}

/**
 * The built package, bundled for a Worker as `wrangler` does it: one ES module, dependencies in it,
 * minified.
 *
 * @param from The folder of its `package.json`.
 */
export async function bundle(entry: string, from = root): Promise<Bundle> {
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: from },
    // The package as it is published, not the source that the project's own paths lead to.
    tsconfigRaw: '{}',
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2023',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
  });
  const code = outputFiles[0]?.text ?? '';
  return { code, minified: Buffer.byteLength(code), gzipped: gzipSync(code, { level: 9 }).length };
}

/** The bytes of JavaScript that `import 'keyscope'` has Node load, as published. */
export function loadedByNode(from = root): number {
  const files = ['index', 'core', 'native'].map((name) => join(from, `dist/${name}.js`));
  return files.reduce((sum, file) => sum + readFileSync(file).length, 0);
}

// ── Time ─────────────────────────────────────────────────────────────────────────────────────────

/** The last line of a process: milliseconds since it started, and since its first line. */
export interface Boot {
  readonly sinceStart: number;
  readonly sinceFirstLine: number;
}

/** Runs a module in a process of its own, in a folder that finds the package. */
export function boot(code: string): Boot {
  const timed = [
    'const start = performance.now();',
    code,
    'const end = performance.now();',
    'console.log(JSON.stringify({ sinceStart: end, sinceFirstLine: end - start }));',
  ].join('\n');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', timed],
    { cwd: root, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`a process failed: ${stderr}`);
  return JSON.parse(stdout) as Boot;
}
