import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { buildSync, type Plugin } from 'esbuild';
import { defineConfig, type Options } from 'tsup';
import ts from 'typescript';
import { packageEntries } from './test/support/package-entries.ts';

const BUILD = { format: 'esm', target: 'es2023', platform: 'neutral' } as const;

/** The files that the main entry loads. They become one file, because each takes time to load. */
const { metafile } = buildSync({
  ...BUILD,
  entryPoints: ['src/index.ts'],
  external: ['#*'],
  bundle: true,
  write: false,
  metafile: true,
});
const CORE = Object.keys(metafile.inputs).filter((path) => path !== 'src/index.ts');

/** Puts them into `core.js`, with every name that they export. */
const gather: Plugin = {
  name: 'gather',
  setup({ onLoad }) {
    const contents = CORE.map((path) => `export * from './${path}';`).join('\n');
    onLoad({ filter: /src[\\/]index\.ts$/ }, () => ({ contents, resolveDir: '.' }));
  },
};

/** Makes all else import `core.js`: a second copy would reject the principals of the first. */
const share: Plugin = {
  name: 'share',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.?\/.*\.js$/ }, ({ resolveDir, path }) => {
      const source = relative('.', resolve(resolveDir, path)).replaceAll('\\', '/');
      const isCore = CORE.includes(source.replace(/js$/, 'ts'));
      return isCore ? { path: './core.js', external: true } : null;
    });
  },
};

/** Writes a guard of the examples without types, which `keyscope init` copies. */
function writeAdapter(outDir: string, framework: string): void {
  const text = readFileSync(`examples/${framework}/adapter.ts`, 'utf8');
  const compilerOptions = { target: ts.ScriptTarget.ESNext };
  const { outputText } = ts.transpileModule(text, { compilerOptions });
  // The file's head comment would disappear with the first type import.
  const input = `${text.split('\n', 1)[0]}\n${outputText.replace('\n/**', '\n\n/**')}`;
  const biome = ['node_modules/@biomejs/biome/bin/biome', 'format', '--stdin-file-path=a.js'];
  mkdirSync(`${outDir}/adapters`, { recursive: true });
  writeFileSync(
    `${outDir}/adapters/${framework}.js`,
    execFileSync(process.execPath, biome, { input }),
  );
}

export default defineConfig(({ outDir = 'dist' }) => {
  rmSync(outDir, { recursive: true, force: true });
  const exported = packageEntries().map(({ output, source }) => [output, source]);
  const command = { keyscope: 'src/tools/cli/bin.ts' };
  const hashes = { native: 'src/native/sha2.ts', noble: 'src/native/noble.ts' };
  const entry = { ...Object.fromEntries(exported), ...command, ...hashes };
  const common: Options = {
    ...BUILD,
    outDir,
    external: [/^(?:#|node:)/],
    removeNodeProtocol: false,
    silent: true,
  };
  return [
    { ...common, entry: { core: 'src/index.ts' }, esbuildPlugins: [gather] },
    {
      ...common,
      entry,
      esbuildPlugins: [share],
      async onSuccess() {
        for (const name of ['express', 'fastify', 'hono']) writeAdapter(outDir, name);
      },
    },
  ];
});
