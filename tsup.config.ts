import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { defineConfig, type Options } from 'tsup';
import ts from 'typescript';
import { packageEntries } from './test/support/package-entries.ts';

/** The folders of the main entry. They become one file, because each file takes time to load. */
const CORE: readonly string[] = ['core', 'management', 'http', 'notation'];

/**
 * The files in them that the front door does not load: only `admin`, `jwt`, `leaks` and `mcp` need
 * them.
 */
const APART: readonly string[] = [
  'http/address',
  'http/answer',
  'http/body',
  'http/fetch-handler',
  'http/fetched-list',
];

/** Whether a file, named without its extension, belongs to `core.js`. */
function isCore(name: string): boolean {
  const [folder = '', ...rest] = name.split('/');
  return CORE.includes(folder) && rest.length === 1 && !APART.includes(name);
}

type Plugin = NonNullable<Options['esbuildPlugins']>[number];

/** Puts those files into `core.js`, with every name that they export. */
const gather: Plugin = {
  name: 'gather',
  setup({ onLoad }) {
    onLoad({ filter: /src[\\/]index\.ts$/ }, () => {
      const names = CORE.flatMap((folder) => {
        return readdirSync(`src/${folder}`).map((file) => `${folder}/${file}`);
      });
      const files = names
        .filter((name) => name.endsWith('.ts') && isCore(name.replace(/\.ts$/, '')))
        .map((name) => `export * from './${name}';`);
      return { contents: files.join('\n'), resolveDir: 'src' };
    });
  },
};

/**
 * Makes everything else import `core.js`: a second copy would reject the principals of the first.
 */
const share: Plugin = {
  name: 'share',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.?\// }, ({ resolveDir, path }) => {
      const name = relative('src', resolve(resolveDir, path)).replaceAll('\\', '/');
      return isCore(name.replace(/\.js$/, '')) ? { path: './core.js', external: true } : null;
    });
  },
};

/** The entries of `package.json` by file name, the command, and the two hashes. */
function entries(): Record<string, string> {
  const exported = packageEntries().map(({ output, source }) => [output, source]);
  return {
    ...Object.fromEntries(exported),
    keyscope: 'src/tools/cli/bin.ts',
    native: 'src/native/sha2.ts',
    noble: 'src/native/noble.ts',
  };
}

const COMMON: Options = {
  format: 'esm',
  target: 'es2023',
  platform: 'neutral',
  removeNodeProtocol: false,
  external: [/^(?:#|node:)/],
  silent: true,
};

export default defineConfig(({ outDir = 'dist' }) => {
  rmSync(outDir, { recursive: true, force: true });
  const core: Options = { entry: { core: 'src/index.ts' }, esbuildPlugins: [gather] };
  const rest: Options = {
    entry: entries(),
    esbuildPlugins: [share],
    async onSuccess() {
      for (const framework of ['express', 'fastify', 'hono']) writeAdapter(outDir, framework);
    },
  };
  return [core, rest].map((options) => ({ ...COMMON, ...options, outDir }));
});

/** A guard of the examples without types, which `keyscope init` copies into JavaScript projects. */
function writeAdapter(outDir: string, framework: string): void {
  const target = ts.ScriptTarget.ESNext;
  const text = readFileSync(`examples/${framework}/adapter.ts`, 'utf8');
  const { outputText } = ts.transpileModule(text, { compilerOptions: { target } });
  // The file's head comment would disappear with the first type import.
  const input = `${text.split('\n', 1)[0]}\n${outputText.replace('\n/**', '\n\n/**')}`;
  const biome = 'node_modules/@biomejs/biome/bin/biome';
  const format = [biome, 'format', '--stdin-file-path=adapter.js'];
  const tidied = execFileSync(process.execPath, format, { input });
  mkdirSync(`${outDir}/adapters`, { recursive: true });
  writeFileSync(`${outDir}/adapters/${framework}.js`, tidied);
}
