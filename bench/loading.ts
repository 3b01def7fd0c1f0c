/**
 * What `import 'keyscope'` loads, how long that takes in a process of its own, and what a bundler
 * makes of it. Bytes are exact: `test/size.test.ts` holds them to a bound.
 */
import { spawnSync } from 'node:child_process';
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

export interface Loaded {
  readonly own: number;
  readonly others: number;
}

/**
 * The bytes of JavaScript that an entry loads: the package's own, as it is published, and its
 * dependencies'.
 */
export async function loaded(entry: string): Promise<Loaded> {
  const options = {
    write: false,
    format: 'esm',
    target: 'es2023',
    absWorkingDir: root,
    logLevel: 'error',
  } as const;
  const { metafile } = await build({
    ...options,
    entryPoints: [entry],
    bundle: true,
    metafile: true,
  });
  const files = Object.entries(metafile.inputs);
  const own = files.filter(([path]) => path.startsWith('src/')).map(([path]) => path);
  // One output file per source file, as the package is built.
  const { outputFiles } = await build({ ...options, entryPoints: own, outdir: '/' });
  const bytes = { own: 0, others: 0 };
  for (const { contents } of outputFiles) bytes.own += contents.length;
  for (const [path, input] of files) if (!own.includes(path)) bytes.others += input.bytes;
  return bytes;
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
