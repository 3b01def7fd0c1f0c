/** The published package: every entry around one core, the same files for every runtime. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { buildPackage } from './support/built-package.ts';
import { packageEntries } from './support/package-entries.ts';
import { closureOf, readProjectFile } from './support/source.ts';

describe('the build', () => {
  const built = buildPackage();
  afterAll(() => built.remove());

  const importsOf = (name: string): readonly string[] => {
    const statements = built.text(name).matchAll(/^(?:import|\} from|export \* from) .*"(.+)";$/gm);
    return Array.from(new Set(Array.from(statements, ([, path = '']) => path))).sort();
  };

  it('contains every source file once, so that all entries share one core', () => {
    const sources = Array.from(built.sources.values()).flat();
    expect(sources.filter((path, index) => sources.indexOf(path) !== index)).toEqual([]);
    expect(sources).toEqual(expect.arrayContaining(['src/core/principal.ts', 'src/mcp/gate.ts']));
  });

  it('puts exactly what the front door loads into the core', () => {
    const loaded = closureOf('src/index.ts', 'without types').map(({ path }) => path);
    const inCore = loaded.filter((path) => path !== 'src/index.ts' && !path.includes('native'));
    expect(built.sources.get('core.js')?.toSorted()).toEqual(inCore.toSorted());
  });

  it('loads the core in two files, and of other packages only the hash', () => {
    expect(importsOf('index.js')).toEqual(['./core.js']);
    expect(importsOf('core.js')).toEqual(['#noble']);
    expect(importsOf('native.js')).toEqual([]);
    const noble = ['@noble/hashes/sha2.js', '@noble/hashes/utils.js'];
    expect(importsOf('noble.js')).toEqual(noble);
  });

  it("uses the runtime's hash on Node and noble everywhere else", () => {
    const { imports } = JSON.parse(readProjectFile('package.json')) as { imports: object };
    const expected = { node: './dist/native.js', default: './dist/noble.js' };
    expect(imports).toEqual({ '#noble': expected });
  });

  // The bundler renames classes that refer to themselves; logs used to say `_AccessError`.
  it('keeps the names of errors', () => {
    const named = built
      .text('core.js')
      .matchAll(/(?:var (\w+Error) = class|class (\w+Error)) ext/g);
    const names = Array.from(named, ([, variable, name]) => variable ?? name);
    expect(names.sort()).toEqual(['AccessError', 'InputError', 'StoreError']);
  });

  it.each(packageEntries())(
    'exports from $specifier what its source exports',
    async ({ output, source }) => {
      const module = (await import(/* @vite-ignore */ `../${source}`)) as object;
      const { href } = pathToFileURL(join(built.path, 'dist', `${output}.js`));
      const published = (await import(/* @vite-ignore */ href)) as object;
      expect(Object.keys(published).toSorted()).toEqual(Object.keys(module).toSorted());
    },
  );

  it('lists the types first, then one path for every runtime', () => {
    const { exports } = JSON.parse(readProjectFile('package.json')) as {
      exports: Readonly<Record<string, object>>;
    };
    for (const [name, entry] of Object.entries(exports)) {
      if (name !== './package.json') expect(Object.keys(entry)).toEqual(['types', 'default']);
    }
  });
});
