/** The build for Node: the same entries, around one core. */
import { describe, expect, it } from 'vitest';
import { buildForNode, entriesForNode } from '../tsup.config.ts';
import { readProjectFile } from './support/source.ts';

const { core, entries } = await buildForNode({ write: false });
const outputs = { ...core.metafile.outputs, ...entries.metafile.outputs };

describe('the build for Node', () => {
  it('has every source file once, so that there is one core, whatever is imported', () => {
    const inputs = Object.values(outputs).flatMap((output) => Object.keys(output.inputs));
    const sources = inputs.filter((path) => path.startsWith('src/'));
    expect(sources.filter((path, index) => sources.indexOf(path) !== index)).toEqual([]);
    expect(sources).toEqual(expect.arrayContaining(['src/core/principal.ts', 'src/mcp/gate.ts']));
  });

  it('loads the core in two files, and nothing of another package', () => {
    const importsOf = (name: string) =>
      new Set(outputs[`dist/node/${name}.js`]?.imports.map(({ path }) => path));
    expect(importsOf('index')).toEqual(new Set(['./core.js']));
    expect(importsOf('core')).toEqual(new Set());
  });

  // The bundler renames a class that names itself, and logs then said `_AccessError`.
  it('keeps the names of errors', () => {
    const text = core.outputFiles?.map((file) => file.text).join('') ?? '';
    const named = text.matchAll(/(?:var (\w+Error) = class|class (\w+Error)) extends/g);
    const names = Array.from(named, ([, variable, name]) => variable ?? name);
    expect(names).toEqual(['AccessError', 'InputError', 'StoreError']);
  });

  it.each(Object.entries(entriesForNode()))(
    'exports from %s what %s does',
    async (name, source) => {
      const module = (await import(/* @vite-ignore */ `../${source}`)) as object;
      const output = outputs[`dist/node/${name}.js`];
      expect(output?.exports.toSorted()).toEqual(Object.keys(module).toSorted());
    },
  );

  it('is what Node, Bun and Deno find for every entry, after the types', () => {
    const { exports } = JSON.parse(readProjectFile('package.json')) as {
      exports: Readonly<Record<string, object>>;
    };
    for (const [name, entry] of Object.entries(exports)) {
      if (name !== './package.json')
        expect(Object.keys(entry)).toEqual(['types', 'node', 'default']);
    }
  });
});
