/** What each line of a diff is, in all the ways that git prints one, and where it breaks off. */
import { describe, expect, it } from 'vitest';
import { createDiffLines } from '../../../../src/tools/cli/scan/diff-lines.js';

/** The lines that a scan looks at, files and what is broken. */
function read(text: string) {
  const looked: string[] = [];
  const files: string[] = [];
  const broken: string[] = [];
  const lines = createDiffLines({
    onCommit: (commit) => files.push(`commit ${commit.slice(0, 2)}`),
    onFile: ({ path, isBinary }) => files.push(isBinary ? `${path}, binary` : path),
    onBroken: (path, why) => broken.push(`${path}: ${why}`),
  });
  for (const line of text.split('\n')) {
    const place = lines.read(Buffer.from(line));
    if (place === null) continue;
    const { commit, path, line: number, marks } = place;
    const where = `${commit?.slice(0, 2) ?? ''}:${path ?? '(message)'}:${number}`;
    if (line !== '') looked.push(`${where}: ${line.slice(marks)}`);
  }
  lines.end();
  return { looked, files, broken, isDiff: lines.isDiff };
}

const id = (digits: string) => digits.repeat(20);
const file = (name: string, hunk: string) =>
  `diff --git a/${name} b/${name}\nindex 1..2 100644\n--- a/${name}\n+++ b/${name}\n${hunk}`;

describe('a hunk', () => {
  it('has as many lines as it announces, whatever they look like', () => {
    const hunk = `@@ -1,4 +5,4 @@ f() {
 diff --git a/y b/y
--- a/y
+++ b/y
-@@ -1 +1 @@
+@@ -1 +1 @@
 commit ${id('ab')}
\\ No newline at end of file`;
    const { looked, files, broken } = read(file('x', hunk));
    expect(looked).toEqual([':x:6: ++ b/y', ':x:7: @@ -1 +1 @@']);
    expect({ files, broken }).toEqual({ files: ['x'], broken: [] });
  });

  it('may have empty lines without a mark, and no lines at all', () => {
    const { looked, broken } = read(file('x', '@@ -0,0 +0,0 @@\n@@ -1,2 +1,3 @@\n\n\r\n+a'));
    expect({ looked, broken }).toEqual({ looked: [':x:3: a'], broken: [] });
  });

  it('of a merge has a column for each parent', () => {
    const text = `diff --cc x y
index 1,2..3
--- a/x y
+++ b/x y
@@@ -1,3 -1,4 +1,4 @@@
  one
- main
 -side
 -other
++both
 +mine
+ yours
after`;
    const { looked, files, broken } = read(text);
    expect(looked).toEqual([
      ':x y:2: both',
      ':x y:3: mine',
      ':x y:4: yours',
      ':(message):13: after',
    ]);
    expect({ files, broken }).toEqual({ files: ['x y'], broken: [] });
  });

  it.each([
    ['a line that is none of a hunk', '@@ -1,2 +1,2 @@\n a\nb', ':(message):7: b', 'line 7'],
    ['more lines than it announces', '@@ -1 +1,2 @@\n-a\n b', ':(message):7:  b', 'line 7'],
    ['fewer lines', '@@ -1 +1,3 @@\n-a\n+b', ':x:1: b', 'the diff ends'],
  ])('is broken where it has %s', (_, hunk, line, why) => {
    const { looked, broken } = read(file('x', hunk));
    expect(looked).toEqual([line]);
    expect(broken).toEqual([expect.stringContaining(`x: ${why}`)]);
  });

  it('that breaks off leaves the next file and commit as they are', () => {
    const hunk = '@@ -1 +1,3 @@\n+a\n';
    const { looked, files } = read(`${file('x', hunk)}${file('y', '@@ -0,0 +9 @@\n+b')}`);
    expect(looked).toEqual([':x:1: a', ':y:9: b']);
    expect(files).toEqual(['x', 'y']);
    const next = read(`${file('x', hunk)}commit ${id('ab')}\n    c`);
    expect(next.looked).toEqual([
      ':x:1: a',
      `ab:(message):1: commit ${id('ab')}`,
      'ab:(message):2:     c',
    ]);
  });

  it('is none in a message', () => {
    const { looked } = read(`commit ${id('ab')}\n@@ -1,2 +1,2 @@\n a\n b\n--- x\n@@ -1 +1 @@\n c`);
    expect(looked).toHaveLength(7);
    expect(looked.every((line) => line.startsWith('ab:(message):'))).toBe(true);
  });
});

describe('a log', () => {
  it('names the commit of each line, also with marks and in mails', () => {
    const texts = [
      `commit ${id('a1')} (from ${id('b2')})\nAuthor: a\n\n    one\n`,
      file('x', '@@ -0,0 +1 @@\n+1'),
      `\ncommit - ${id('c3')}\n\n    two`,
      `From ${id('d4')} Mon Sep 17 00:00:00 2001\nthree\n${file('y', '@@ -0,0 +1 @@\n+4')}`,
      '-- \n2.39.5',
    ];
    const { looked, files, isDiff } = read(texts.join('\n'));
    const messages = looked.filter((line) => !/commit|From|Author/.test(line));
    expect(messages).toEqual([
      'a1:(message):4:     one',
      'a1:x:1: 1',
      'c3:(message):3:     two',
      'd4:(message):2: three',
      'd4:y:1: 4',
      'd4:(message):9: -- ',
      'd4:(message):10: 2.39.5',
    ]);
    expect(files).toEqual(['commit a1', 'x', 'commit c3', 'commit d4', 'y']);
    expect(isDiff).toBe(true);
  });
});

describe('a file', () => {
  const header = (name: string, ...lines: readonly string[]) =>
    [`diff --git a/${name} b/${name}`, ...lines].join('\n');

  it.each([
    [header('x', 'old mode 100644', 'new mode 100755'), ['x']],
    [header('x', 'new file mode 100644', 'index 0..1'), ['x']],
    [
      header('x', 'deleted file mode 100644', '--- a/x', '+++ /dev/null', '@@ -1 +0,0 @@', '-a'),
      [],
    ],
    [header('x', 'deleted file mode 100644', 'Binary files a/x and /dev/null differ'), []],
    [header('x', 'index 1..2', 'Binary files a/x and b/x differ'), ['x, binary']],
    [header('x', 'index 1..2', 'GIT binary patch', 'literal 1', 'Ic', ''), ['x, binary']],
    ['diff --git a/x b/y z\nsimilarity index 100%\nrename from x\nrename to y z', ['y z']],
    ['diff --git x y\n--- x\n+++ y\n@@ -0,0 +1 @@\n+a', ['y']],
    ['diff --git one/x three/x\n--- one/x\n+++ three/x\n@@ -0,0 +1 @@\n+a', ['x']],
    ['diff --git "a/\\303\\274 " "b/\\303\\274 "\nnew file mode 100644', ['ü ']],
    ['diff --cc "\\tx"\nBinary files differ', ['\tx, binary']],
    [
      `${header('x', 'old mode 1', 'new mode 2')}\r\n${header('y', 'new file mode 1')}\r`,
      ['x', 'y'],
    ],
    ['--- x\t2026\n+++ y\t2026\n@@ -0,0 +1 @@\n+a\n--- v\n+++ w\n@@ -1 +0,0 @@\n-a', ['y', 'w']],
    ['Binary files x and y differ\nOnly in z: a', ['y, binary']],
    ['--- a message\nthat begins\n+++ like one', []],
  ])('of %j is %j', (text, files) => {
    expect(read(text).files).toEqual(files);
  });

  it('that is no diff at all is known as such', () => {
    expect(read('a\n--- b\n+++ c\n d\n').isDiff).toBe(false);
    expect(read('--- b\n+++ c\n@@ -1 +0,0 @@\n-a\n').isDiff).toBe(true);
    expect(read(header('x', 'new file mode 100644')).isDiff).toBe(true);
  });
});
