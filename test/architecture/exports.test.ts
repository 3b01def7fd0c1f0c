/**
 * The package's exports, as in the files of `test/api`. An added, changed or lost declaration fails
 * here first, so that every change is deliberate. `npm run api` writes the files again.
 */
import { describe, expect, it } from 'vitest';
import { apiReports } from '../support/api-report.ts';
import { declarationsOf, exportsOf, inferredIn, readEntries } from '../support/entries.ts';
import { filesUnder, sourceFrom, sourceOf } from '../support/source.ts';

const entries = readEntries();
const reports = apiReports(entries);
const fileOf = (entry: string) => `${`keyscope${entry.slice(1)}`.replaceAll('/', '-')}.txt`;

describe('the package', () => {
  it('has an entry for every index, and no others', () => {
    const indexes = filesUnder('src', '.ts').filter((path) => /\/index\.ts$/.test(path));
    expect(entries.map(({ source }) => source.path).sort()).toEqual(indexes);
    const files = filesUnder('test/api', '.txt').map((path) => path.replace('test/api/', ''));
    expect(files).toEqual(entries.map(({ name }) => fileOf(name)).sort());
  });

  it.each(entries)('exports these declarations from $name', async ({ name }) => {
    await expect(reports.get(name)).toMatchFileSnapshot(`../api/${fileOf(name)}`);
  });

  it.each(entries)('exports the same values at run time: $name', async ({ source }) => {
    const values = exportsOf(source).filter(({ kind }) => kind === 'value');
    const url = new URL(`../../${source.path}`, import.meta.url).href;
    const loaded = (await import(url)) as object;
    expect(Object.keys(loaded).sort()).toEqual(values.map(({ name }) => name).sort());
  });

  it.each(entries)('writes out its types: $name', ({ source }) => {
    const seen = new Set<object>();
    const inferred = exportsOf(source).flatMap(({ name, original, from }) => {
      const declared = declarationsOf(sourceOf(from), original);
      expect(declared.length, name).toBeGreaterThan(0);
      return declared.flatMap((each) => inferredIn(each, seen)).map((what) => `${name}, ${what}`);
    });
    expect(inferred).toEqual([]);
  });
});

describe('the readers of the source', () => {
  const sample = sourceFrom(`
    const TABLE = { a: 1 };
    function f(): number { const b: typeof TABLE = TABLE; return b.a; }
    type Hidden = typeof TABLE;
    export type A = typeof TABLE;
    export type B = { readonly [K in keyof typeof TABLE]: number };
    export type C = Readonly<ReturnType<typeof f>>;
    export interface D { readonly hidden: Hidden }
    export const e = 1;
    export interface F { readonly g: string }
    export interface H extends A {}
    export function i(j: F, k = 1): readonly F[] { type L = typeof j; return [] as L[]; }
    export class M { readonly n: string = ''; #o: Hidden = TABLE; }
    export const p: number = f();
    export const s = (t: F): F => { const u: Hidden = TABLE; return t; };
    export const v = (w = TABLE) => w;
    export const x = (y: typeof TABLE): F => f(y) as unknown as C;
    export interface Q { readonly q: Q }
    export type R = z.infer<typeof schema>;
  `);
  const inferred = (name: string) =>
    declarationsOf(sample, name).flatMap((declared) => inferredIn(declared));

  it.each([
    ['A', ['typeof TABLE']],
    ['B', ['typeof TABLE']],
    ['C', ['ReturnType<typeof f>', 'typeof f']],
    ['D', ['typeof TABLE']],
    ['H', ['typeof TABLE']],
    ['e', ['e has no written type']],
    ['v', ['v has no written type']],
    ['x', ['typeof TABLE']],
    ['R', ['z.infer<typeof schema>', 'typeof schema']],
  ])('find an inferred type: %s', (name, found) => {
    expect(inferred(name)).toEqual(found.map((what) => `sample.ts: ${what}`));
  });

  it.each(['F', 'i', 'M', 'p', 'Q', 's'])('accept a written type: %s', (name) => {
    expect(declarationsOf(sample, name)).toHaveLength(1);
    expect(inferred(name)).toEqual([]);
  });

  it('read a name with its kind and origin', () => {
    const index = sourceFrom(
      `export { a, type B, c as d } from './e.js'; export type { F } from '../g/h.js';`,
      'src/x/index.ts',
    );
    expect(exportsOf(index)).toEqual([
      { name: 'a', original: 'a', from: 'src/x/e.ts', kind: 'value' },
      { name: 'B', original: 'B', from: 'src/x/e.ts', kind: 'type' },
      { name: 'd', original: 'c', from: 'src/x/e.ts', kind: 'value' },
      { name: 'F', original: 'F', from: 'src/g/h.ts', kind: 'type' },
    ]);
  });
});
