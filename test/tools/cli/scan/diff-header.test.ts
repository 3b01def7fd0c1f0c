/** Headers of diffs: hunks, names in quotes, and the path in two names. */
import { describe, expect, it } from 'vitest';
import {
  endOfBoth,
  pathOfBoth,
  readHeaderLine,
  readHunk,
  unquoted,
} from '../../../../src/tools/cli/scan/diff-header.js';

describe('readHunk', () => {
  it.each([
    ['@@ -1,2 +3,4 @@', { old: [2], left: 4, next: 3 }],
    ['@@ -1 +3 @@ function f() {', { old: [1], left: 1, next: 3 }],
    ['@@ -0,0 +1 @@\r', { old: [0], left: 1, next: 1 }],
    ['@@@ -1,2 -3 +4,5 @@@', { old: [2, 1], left: 5, next: 4 }],
    ['@@@@ -1 -1 -1 +1,0 @@@@', { old: [1, 1, 1], left: 0, next: 1 }],
  ])('reads %s', (text, hunk) => {
    expect(readHunk(text)).toEqual(hunk);
  });

  it.each(['@@ -1,2 @@', '@@@ -1 +1 @@@', '@@ -1 -1 +1 @@', ' @@ -1 +1 @@', '@ -1 +1 @', '@@'])(
    'does not read %s',
    (text) => {
      expect(readHunk(text)).toBeNull();
    },
  );
});

describe('readHeaderLine', () => {
  it.each([
    ['--- a/x y\t', { kind: 'old', name: 'a/x y' }],
    ['+++ b/x\t2026-11-26 05:00:00.0 +0000', { kind: 'new', name: 'b/x' }],
    ['rename to "x\\ty"', { kind: 'renamed', name: 'x\ty' }],
    ['copy to x', { kind: 'renamed', name: 'x' }],
    ['deleted file mode 100644', { kind: 'deleted' }],
    ['Binary files a/x and b/x differ', { kind: 'binary', name: 'b/x' }],
    ['Binary files differ', { kind: 'binary', name: '' }],
    ['GIT binary patch', { kind: 'binary', name: '' }],
    ['new file mode 100644', { kind: 'other' }],
    ['mode 100644,100644..100755', { kind: 'other' }],
    ['similarity index 90%', { kind: 'other' }],
  ])('reads %s', (text, line) => {
    expect(readHeaderLine(text)).toEqual(line);
  });

  it.each(['---', '+++', 'rename', 'literal 12', 'index', '', ' --- a'])(
    'ends a header at %j',
    (text) => {
      expect(readHeaderLine(text)).toBeNull();
    },
  );
});

describe('pathOfBoth', () => {
  it.each([
    ['a/x b/x', 'x'],
    ['a/x y b/x y', 'x y'],
    ['a/b/x b/b/x', 'b/x'],
    ['x b/x x b/x', 'x b/x'],
    ['i/x w/x', 'x'],
    ['x x', 'x'],
    ['old/x new/x', 'x'],
    ['"a/\\303\\274" "b/\\303\\274"', '\xc3\xbc'],
    ['"a/\\" \\"" "b/\\" \\""', '" "'],
  ])('of %s is %s', (names, path) => {
    expect(pathOfBoth(names)).toBe(path);
  });

  it.each(['a/x b/yy', 'a/x b/y', 'x', 'one/x three/x'])('of %s is not known', (names) => {
    expect(pathOfBoth(names)).toBeNull();
    expect(endOfBoth('one/x', 'three/x')).toBe('x');
  });
});

describe('unquoted', () => {
  it.each([
    ['x', 'x'],
    ['"x', '"x'],
    ['"a\\ab\\bt\\tn\\nv\\vf\\fr\\rq\\"s\\\\"', 'a\x07b\bt\tn\nv\vf\fr\rq"s\\'],
    ['"\\000\\377\\1012"', '\0\xffA2'],
  ])('takes %s for what git means', (name, text) => {
    expect(unquoted(name)).toBe(text);
  });
});
