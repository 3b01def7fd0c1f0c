/**
 * The effort of reading the source. The limits are on tokens and decisions, not line breaks: plain
 * code may take more lines. Each run prints the figures.
 */
import ts from 'typescript';
import { afterAll, describe, expect, it } from 'vitest';
import {
  fileLengthOf,
  functionLengthsOf,
  lineCountOf,
  lineLengthsOf,
  longerThan,
  longestOf,
  runtimeOf,
  runtimeOfAll,
} from '../support/budget.ts';
import { closureOf, readProjectFile, sourceFrom, sourcesUnder } from '../support/source.ts';

/**
 * The most tokens of each folder. A bound that is nearly met is printed with its rest: before a
 * change squeezes, something has to leave.
 */
const ROOMS: Readonly<Record<string, number>> = {
  core: 12_800,
  management: 7_800,
  http: 3_150,
  notation: 860,
  native: 60,
  admin: 4_100,
  cache: 5_450,
  jwt: 4_400,
  keyless: 3_200,
  leaks: 4_400,
  mcp: 4_840,
  reports: 1_870,
  schemas: 3_610,
  stores: 31_650,
  testing: 32_850,
  tools: 40_460,
};
const DECISIONS = 490;
/** The most names that `keyscope` exports, types included. */
const NAMES = 113;
const FILE_LINES = 300;
const FUNCTION_LINES = 45;
const COLUMNS = 100;

const sources = sourcesUnder('src');

const figures: string[] = [];
afterAll(() => console.log(`budget: ${figures.join('; ')}`));

function expectAtMost(bound: number, measured: number, what: string): void {
  figures.push(`${what} ${measured} of ${bound}`);
  expect(measured, what).toBeLessThanOrEqual(bound);
  // A measurement that finds nothing would look small too.
  expect(measured, what).toBeGreaterThan(bound / 4);
}

describe('budget', () => {
  it('limits what an auditor reads: the core and management', () => {
    const core = runtimeOfAll(sourcesUnder('src/core'));
    const management = runtimeOfAll(sourcesUnder('src/management'));
    expectAtMost(DECISIONS, core.decisions + management.decisions, 'decisions of both');
    // Follows type imports, because what the context injects runs too.
    const door = runtimeOfAll(closureOf('src/core/admit.ts', 'with types'));
    expectAtMost(core.tokens, door.tokens, 'tokens of the front door, of the core');
  });

  it.each(Object.entries(ROOMS))('limits the tokens of %s', (room, bound) => {
    const { tokens } = runtimeOfAll(sourcesUnder(`src/${room}`));
    const rest = bound - tokens;
    const warning = rest < bound / 20 ? `, only ${rest} left: make room first` : '';
    expectAtMost(bound, tokens, `tokens of ${room}`);
    if (warning !== '') figures.push(`${room}${warning}`);
  });

  it('states the lines of code that a service loads, within 3 %', () => {
    const linesOf = (room: string): number => {
      return sourcesUnder(`src/${room}`).reduce((sum, source) => sum + lineCountOf(source).code, 0);
    };
    const counted = ['core', 'management', 'http'].map(linesOf);
    const all = counted.reduce((sum, lines) => sum + lines, 0);
    figures.push(`lines of core, management and http ${counted.join(' + ')} = ${all}`);
    const plain = (page: string): string => readProjectFile(page).replaceAll(/\s+/g, ' ');
    const [, total = ''] = /about ([\d,]+) lines of code without/.exec(plain('README.md')) ?? [];
    const [, ...parts] =
      /about ([\d,]+) lines of code, management ([\d,]+) and HTTP ([\d,]+);/.exec(
        plain('docs/auditing.md'),
      ) ?? [];
    for (const [index, lines] of [all, ...counted].entries()) {
      const said = Number([total, ...parts][index]?.replaceAll(',', ''));
      expect(Math.abs(said - lines), `${said} for ${lines}`).toBeLessThanOrEqual(lines * 0.03);
    }
  });

  it('has a limit for every folder', () => {
    const folders = new Set(sources.flatMap(({ path }) => /^src\/(\w+)\//.exec(path)?.[1] ?? []));
    expect([...folders].sort()).toEqual(Object.keys(ROOMS).sort());
  });

  it('limits the names that the package exports at its root', () => {
    const names = sources.find(({ path }) => path === 'src/index.ts')?.tree.statements ?? [];
    const exported = names.flatMap((statement) => {
      const clause = ts.isExportDeclaration(statement) ? statement.exportClause : undefined;
      return clause !== undefined && ts.isNamedExports(clause) ? [...clause.elements] : [];
    });
    expectAtMost(NAMES, exported.length, "names of 'keyscope'");
  });

  it('keeps every file to a few pages', () => {
    const lengths = sources.map(fileLengthOf);
    expect(longerThan(FILE_LINES, lengths)).toEqual([]);
    expectAtMost(FILE_LINES, longestOf(lengths).length, 'lines of the longest file');
  });

  it('keeps every function to one screen', () => {
    const lengths = sources.flatMap(functionLengthsOf);
    expect(longerThan(FUNCTION_LINES, lengths)).toEqual([]);
    expectAtMost(FUNCTION_LINES, longestOf(lengths).length, 'lines of the longest function');
  });

  it.each(['src', 'examples', 'bench', 'test'])(
    'keeps lines in %s short, comments included',
    (folder) => {
      const lengths = sourcesUnder(folder).flatMap(lineLengthsOf);
      expect(longerThan(COLUMNS, lengths)).toEqual([]);
      expectAtMost(COLUMNS, longestOf(lengths).length, `columns of the longest line in ${folder}`);
    },
  );

  it('spends 25 to 40 % of its lines on comments', () => {
    let code = 0;
    let comment = 0;
    for (const count of sources.map(lineCountOf)) {
      code += count.code;
      comment += count.comment;
    }
    const share = Math.round((100 * comment) / (code + comment));
    figures.push(`comments ${share} % of lines`);
    expect(share).toBeGreaterThanOrEqual(25);
    expect(share).toBeLessThanOrEqual(40);
  });

  it('has three runtime dependencies, which have none', () => {
    const dependenciesOf = (manifest: string): readonly string[] => {
      const read = JSON.parse(readProjectFile(manifest)) as { dependencies?: object };
      return Object.keys(read.dependencies ?? {});
    };
    const names = dependenciesOf('package.json');
    expect(names).toEqual(['@noble/hashes', 'jose', 'zod']);
    const theirs = names.flatMap((name) => dependenciesOf(`node_modules/${name}/package.json`));
    expect(theirs).toEqual([]);
    figures.push(`runtime dependencies ${names.join(', ')}`);
  });
});

describe('runtimeOf', () => {
  it('counts what runs: no types, comments, imports or re-exports', () => {
    const text = `
      import { a } from './a.js';
      export { b } from './b.js';
      /** A comment. */
      export interface C { readonly d: string }
      export const e = (f: number): number => f + 1;
    `;
    // export const e = ( f ) => f + 1 ;
    expect(runtimeOf(sourceFrom(text))).toEqual({ tokens: 12, decisions: 0 });
    expect(runtimeOfAll([sourceFrom(text), sourceFrom(text)]).tokens).toBe(24);
  });

  it.each([
    ['if (a) b(); else c();', 1],
    ['a ? b : c;', 1],
    ['a && b || (c ?? d);', 3],
    ['for (const a of b) c();', 1],
    ['for (const a in b) c();', 1],
    ['for (;;) a();', 1],
    ['while (a) b();', 1],
    ['do a(); while (b);', 1],
    ['try { a(); } catch { b(); }', 1],
    ['switch (a) { case 1: case 2: b(); default: c(); }', 2],
    ['a?.b; a ??= b; a + b;', 0],
  ])('counts the decisions of %s: %i', (text, decisions) => {
    expect(runtimeOf(sourceFrom(text)).decisions).toBe(decisions);
  });

  it('counts lengths in lines and columns, comments included', () => {
    const source = sourceFrom(
      ['function a() {', '  // Why.', '  return () => {', '    b();', '  };', '}', ''].join('\n'),
    );
    expect(fileLengthOf(source)).toEqual({ place: 'sample.ts', length: 7 });
    expect(functionLengthsOf(source)).toEqual([
      { place: 'sample.ts:1', length: 6 },
      { place: 'sample.ts:3', length: 3 },
    ]);
    expect(longerThan(5, functionLengthsOf(source))).toEqual(['sample.ts:1: 6']);
    expect(longestOf(lineLengthsOf(source))).toEqual({ place: 'sample.ts:3', length: 16 });
    expect(longerThan(15, lineLengthsOf(source))).toEqual(['sample.ts:3: 16']);
    expect(lineCountOf(source)).toEqual({ code: 5, comment: 1 });
  });
});
