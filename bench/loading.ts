/**
 * What `import 'keyscope'` loads, how long that takes in a process of its own, and what a bundler
 * makes of it. Bytes are exact: `test/size.test.ts` holds them to a bound.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { buildForNode } from '../tsup.config.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

// ── Bytes ────────────────────────────────────────────────────────────────────────────────────────

export interface Bundle {
  readonly code: string;
  readonly minified: number;
  readonly gzipped: number;
}

/**
 * The source, bundled for a Worker as `wrangler` does it: one ES module, dependencies in it,
 * minified.
 */
export async function bundle(entry: string): Promise<Bundle> {
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: root, loader: 'ts' },
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
export async function loadedByNode(): Promise<number> {
  const { core, entries } = await buildForNode({ write: false });
  const outputs = { ...core.metafile.outputs, ...entries.metafile.outputs };
  const files = ['index', 'core'].map((name) => outputs[`dist/node/${name}.js`]?.bytes);
  return files.reduce<number>((sum, bytes = Number.NaN) => sum + bytes, 0);
}

// ── Time ─────────────────────────────────────────────────────────────────────────────────────────

/**
 * Milliseconds of one import, in a process that has loaded nothing else; `from` is a folder that
 * finds it.
 */
export function importTime(specifier: string, from = '.'): number {
  const code = [
    'const start = performance.now();',
    `await import(${JSON.stringify(specifier)});`,
    'console.log(performance.now() - start);',
  ].join(' ');
  const cwd = fileURLToPath(new URL(from, new URL('..', import.meta.url)));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', code],
    { cwd, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`import '${specifier}' failed: ${stderr}`);
  return Number(stdout);
}
