import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { type BuildOptions, type BuildResult, build, type Plugin } from 'esbuild';
import { defineConfig } from 'tsup';
import ts from 'typescript';

// Two builds of one source. For whoever bundles: one output file per source file, so that a bundler
// takes what is used, and the package can be compared with the repository line by line. For Node,
// where each file that is loaded takes a third of a millisecond: what `keyscope` loads as one file.
export default defineConfig({
  entry: ['src/**/*.ts'],
  format: 'esm',
  target: 'es2023',
  platform: 'neutral',
  bundle: false,
  sourcemap: true,
  clean: true,
  silent: true,
  async onSuccess() {
    await buildForNode({ write: true });
    for (const framework of ['express', 'fastify', 'hono']) writeAdapter(framework);
  },
});

/** A guard of the examples without types, which `keyscope init` copies into a project without. */
function writeAdapter(framework: string): void {
  const target = ts.ScriptTarget.ESNext;
  const text = readFileSync(`examples/${framework}/adapter.ts`, 'utf8');
  const { outputText } = ts.transpileModule(text, { compilerOptions: { target } });
  // The comment on the whole is lost with the first import of types.
  const input = `${text.split('\n', 1)[0]}\n${outputText.replace('\n/**', '\n\n/**')}`;
  const tidied = execFileSync('biome', ['format', '--stdin-file-path=adapter.js'], { input });
  mkdirSync('dist/adapters', { recursive: true });
  writeFileSync(`dist/adapters/${framework}.js`, tidied);
}

interface Manifest {
  readonly exports: Readonly<Record<string, { readonly node: string; readonly default: string }>>;
}

/** The entries of `package.json`, by the name of their file for Node. */
export function entriesForNode(): Readonly<Record<string, string>> {
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest;
  const entries = Object.values(exports).filter((entry) => typeof entry === 'object');
  return Object.fromEntries(
    entries.map((entry) => [
      entry.node.replace(/^.*\/(.+)\.js$/, '$1'),
      entry.default.replace('./dist/', './src/').replace(/js$/, 'ts'),
    ]),
  );
}

interface NodeBuild {
  readonly core: BuildResult<{ metafile: true }>;
  readonly entries: BuildResult<{ metafile: true }>;
}

/**
 * `dist/node`: `core.js` and every entry, all in one folder. No source file is in two of them,
 * because two copies of the core would refuse each other's principals.
 */
export async function buildForNode({ write }: { readonly write: boolean }): Promise<NodeBuild> {
  const options = {
    bundle: true,
    format: 'esm',
    target: 'es2023',
    platform: 'neutral',
    outdir: 'dist/node',
    sourcemap: true,
    // The package has the source itself.
    sourcesContent: false,
    metafile: true,
    write,
  } as const satisfies BuildOptions;
  // Everything that `keyscope` loads goes into `core.js`, which also exports what other entries
  // import from those files.
  const front = await build({ ...options, entryPoints: ['src/index.ts'], write: false });
  const loaded = Object.keys(front.metafile.inputs)
    .filter((path) => path.startsWith('src/') && path !== 'src/index.ts')
    .map((path) => `export * from './${path.slice('src/'.length)}';`);
  const core = await build({
    ...options,
    stdin: { contents: loaded.join('\n'), resolveDir: 'src' },
    entryNames: 'core',
    alias: {
      '@noble/hashes/sha2.js': './src/native/sha2.ts',
      '@noble/hashes/utils.js': './src/native/sha2.ts',
    },
  });
  const entries = await build({
    ...options,
    // The command is no entry: whoever imported it would run it.
    entryPoints: { ...entriesForNode(), keyscope: './src/tools/cli/bin.ts' },
    splitting: true,
    chunkNames: 'shared-[hash]',
    packages: 'external',
    plugins: [sharing(core.metafile.inputs, './core.js')],
  });
  return { core, entries };
}

/** What the command takes of the entries, so that none of them is cut up for its sake. */
const FOR_THE_COMMAND: Readonly<Record<string, string>> = {
  'src/tools/lock': './lock.js',
  'src/management/reports': './reports.js',
  'src/stores/schema': './stores-schema.js',
};

/** Has files import `shared` instead of what is in it, and the command import whole entries. */
function sharing(inputs: object, shared: string): Plugin {
  const files = new Set(Object.keys(inputs));
  return {
    name: 'sharing',
    setup({ onResolve }) {
      onResolve({ filter: /^\./ }, ({ resolveDir, path, kind }) => {
        if (kind === 'entry-point') return null;
        const file = relative('.', resolve(resolveDir, path)).replace(/js$/, 'ts');
        if (files.has(file)) return { path: shared, external: true };
        if (!relative('.', resolveDir).startsWith('src/tools/cli')) return null;
        const entry = FOR_THE_COMMAND[dirname(file)];
        return entry === undefined ? null : { path: entry, external: true };
      });
    },
  };
}
