/** Finds the forms that the house style avoids, in all code that people read. */
import { describe, expect, it } from 'vitest';
import { foldingIn, loopholesIn, shorthandIn } from '../support/plain-code.ts';
import { sourceFrom, sourcesUnder } from '../support/source.ts';

const shorthand = (text: string) => shorthandIn(sourceFrom(text)).join();

describe('plain code', () => {
  it.each([
    ['src', '.ts'],
    ['examples', '.ts'],
    ['bench', '.ts'],
    ['test', '.ts'],
    ['test', '.mjs'],
    ['.ci', '.mjs'],
  ])('is used in %s, in files that end with %s', (folder, ending) => {
    const sources = sourcesUnder(folder, ending);
    expect(sources.length).toBeGreaterThan(0);
    expect(sources.flatMap(shorthandIn)).toEqual([]);
  });

  it.each([
    ['const [a, b] = [1, f()];', 'an array literal destructured'],
    ['let [a] = [1];', 'an array literal destructured'],
    ['const [a, b] = [1, 2] as const;', 'an array literal destructured'],
    ['[a, b] = [1, 2];', 'not a swap'],
    ['[a.b, this.#c] = [f(), d];', 'not a swap'],
    ['a ? b : c ? d : e;', 'a ternary inside a ternary'],
    ['a ? (b ? c : d) : e;', 'a ternary inside a ternary'],
    ['(a ? b : c) ? d : e;', 'a ternary inside a ternary'],
    ['[a].flat();', 'that is flattened'],
    ['f([a ?? []].flat(1));', 'that is flattened'],
    ['// biome-ignore format: one line', 'the formatter switched off'],
    ['/* biome-ignore-start format: a table */', 'the formatter switched off'],
    ['f(a = 1);', 'an assignment inside'],
    ['a = b = 1;', 'an assignment inside'],
    ['a + (b += 1);', 'an assignment inside'],
    ['if ((a = f())) g();', 'an assignment inside'],
    ['while ((a = f()) !== null) g();', 'an assignment inside'],
    ['const f = () => (a = 1);', 'an assignment inside'],
    ['a ??= 1, b();', 'a comma'],
    ['let a = 1, b = 2;', 'several declarations'],
  ])('excludes %s', (text, fault) => {
    expect(shorthand(text)).toContain(fault);
  });

  it.each([
    '[a, b] = [b, a];',
    '[list[i], list[j]] = [list[j] as T, list[i] as T];',
    'const [a, b] = f();',
    'const [a, b] = await Promise.all([f(), g()]);',
    'for (const [a, b] of [[1, 2]]) f();',
    'function f([a, b]: readonly [number, number]) {}',
    'a ? b : c; f(a ? b : (c) => (d ? e : g));',
    'a.flat(); [[a]].map(f).flat(); [a].flatMap(f);',
    'const a = "biome-ignore format: in a text";',
    '// biome-ignore lint/x: because',
    'a = 1; a ??= f(); a += 1;',
    'for (let a = 1, b = 2; a < b; a += 1) f();',
    'for (a = 0; ; a += 1) f();',
    'void (a = 1);',
    'a === b; a <= b; f((a) => a >= b);',
  ])('allows %s', (text) => {
    expect(shorthand(text)).toBe('');
  });
});

describe('the source', () => {
  const sources = sourcesUnder('src');

  it('has no any, non-null assertion or TODO, and only init writes a suppressed error', () => {
    // For a fresh `tsc --init`, which rejects the extensions that Node needs.
    const written = 'src/tools/cli/starter.ts @ts-ignore';
    expect(sources.flatMap(loopholesIn)).toEqual([written]);
    const sample = 'let a: any; b!.c; // @ts-ignore TODO @ts-expect-error FIXME @ts-nocheck XXX';
    expect(loopholesIn(sourceFrom(sample))).toHaveLength(8);
    expect(loopholesIn(sourceFrom("let a: unknown; !b; f('any');"))).toEqual([]);
  });

  it('folds no case, normalizes no text and uses no weak randomness except where listed', () => {
    const audited = sources.filter(({ path }) => !path.startsWith('src/testing/'));
    expect(audited.flatMap(foldingIn)).toEqual([
      // How many changes this cache remembers in a storm. Each process draws a different number.
      'src/cache/known-changes.ts: Math.random',
      'src/core/input.ts: run.toLowerCase', // A UUID that an error may show.
      'src/core/input.ts: value.normalize', // Names and reasons, for people.
      // A header's name. No non-ASCII letter folds into one of its letters.
      'src/core/request.ts: name.toLowerCase',
      'src/leaks/masked-place.ts: whole.normalize', // Where a key was found, for people.
      'src/leaks/masked-place.ts: text.toLowerCase', // The remains of a key in a host name.
      // Characters that an address may hide.
      "src/leaks/spellings.ts: text.replace(UNSEEN, '').normalize",
      'src/management/mint.ts: context.random', // The secure source, or that of a test.
      'src/schemas/person-text.ts: text.normalize',
      'src/schemas/person-text.ts: text.normalize',
      'src/stores/postgres/query.ts: Math.random', // The delay before it asks again.
      'src/stores/rows.ts: letter.toLowerCase', // The names of our columns.
      'src/tools/cli/call.ts: operand.toLowerCase', // The UUID to write instead.
      'src/tools/lock/express.ts: method.toUpperCase', // Methods as Node spells them.
      'src/tools/openapi/refusals.ts: name.toLowerCase', // Likewise, the names in refusals.
    ]);
    expect(foldingIn(sourceFrom('a.toUpperCase(); b.localeCompare(c);'))).toHaveLength(2);
  });
});
