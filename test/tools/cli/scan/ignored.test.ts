/** `.keyscopeignore`, pattern by pattern. */
import { describe, expect, it } from 'vitest';
import { CommandError } from '../../../../src/tools/cli/command-error.js';
import { readIgnored } from '../../../../src/tools/cli/scan/ignored.js';

describe('a pattern of .keyscopeignore', () => {
  it.each([
    ['a.txt', ['a.txt', 'x/a.txt', 'x/y/a.txt', 'a.txt/b'], ['a-txt', 'ba.txt', 'a.txtx']],
    ['/a.txt', ['a.txt'], ['x/a.txt']],
    ['x/a.txt', ['x/a.txt'], ['y/x/a.txt', 'a.txt']],
    ['*.snap', ['a.snap', 'x/b.snap', '.snap'], ['a.snapx', 'snap']],
    ['test/*.txt', ['test/a.txt'], ['test/x/a.txt', 'a/test/b.txt']],
    ['test/**/*.txt', ['test/a.txt', 'test/x/y/a.txt'], ['x/test/a.txt', 'test.txt']],
    ['**/fixtures', ['fixtures/a', 'x/fixtures/a', 'x/y/fixtures'], ['xfixtures/a']],
    ['dist/', ['dist/', 'dist/a', 'x/dist/a'], ['dist', 'x/dist', 'distx/a']],
    ['x/**', ['x/a', 'x/a/b', 'x/'.concat('y/z')], ['x', 'y/x/a']],
    ['**', ['a', 'x/a'], []],
    ['a?c', ['abc', 'x/a-c'], ['a/c', 'ac']],
    ['a**c', ['abbc', 'ac'], ['a/c']],
    ['a+(b)$|^.', ['a+(b)$|^.'], ['aab', '']],
    ['  a  ', ['a'], ['  a  ']],
  ])('matches its paths and no others: %s', (pattern, matching, others) => {
    const ignored = readIgnored(`# a comment\r\n\n${pattern}\n`);
    expect(matching.filter((path) => !ignored(path))).toEqual([]);
    expect(others.filter(ignored)).toEqual([]);
  });
});

describe('readIgnored', () => {
  it('ignores nothing without patterns', () => {
    expect(readIgnored('\n# a\n \n')('a')).toBe(false);
  });

  // With many wildcards, matching a deep path took too long.
  it.each(['**/a/**/b/**', '*a*b*c*d*e*f*g'])('rejects the many wildcards of %s', (line) => {
    expect(() => readIgnored(line)).toThrow('line 1: use at most two ** and six * in one pattern');
    expect(readIgnored('**/a/**/*b*')('x/a/y/b')).toBe(true);
  });

  it.each(['!a', 'a[bc]', String.raw`a\ b`, '{a,b}'])('rejects %s and names its line', (line) => {
    expect(() => readIgnored(`a\n${line}\n`)).toThrow(CommandError);
    expect(() => readIgnored(`a\n${line}\n`)).toThrow('.keyscopeignore, line 2: ');
  });
});
