/** Keys in diffs of every format, at any place in a line. */
import { describe, expect, it } from 'vitest';
import type { Found } from '../../../../src/tools/cli/scan/scanner.js';
import { readDiff } from '../../../support/diffs.ts';
import { CONTEXTS, chanceFrom, countIn, keyFrom } from '../../../support/planted-keys.ts';

/** A diff that adds a text between removed lines and context lines. */
function diffOf(path: string, text: Buffer, around: string): Buffer {
  const lines = text.toString('latin1').split('\n');
  const head = `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}\n`;
  const hunk = `@@ -3,3 +3,${lines.length + 2} @@ ${around}\n-${around}\n ${around}\n`;
  const added = lines.map((line) => `+${line}\n`).join('');
  return Buffer.from(`${head}${hunk}${added} ${around}\n\\ No newline at end of file\n`, 'latin1');
}

describe('1,000 keys in each kind of text', () => {
  it.each(Object.entries(CONTEXTS))(
    'are found in the added lines of a diff: %s',
    async (_, context) => {
      const chance = chanceFrom(21);
      const keys: string[] = [];
      const diffs: Buffer[] = [];
      let count = 0;
      for (let round = 0; round < 1_000; round += 1) {
        const key = keyFrom(chance);
        const text = Buffer.from(context(key));
        count += countIn(text, key);
        keys.push(key);
        diffs.push(diffOf(`f${round}`, text, keyFrom(chance)));
      }
      const { found, tally, said } = await readDiff(Buffer.concat(diffs));
      expect(new Set(found.map(({ find }) => find.key))).toEqual(new Set(keys));
      expect(found).toHaveLength(count);
      const isRight = ({ find, path }: Found) => path === `f${keys.indexOf(find.key)}`;
      expect(found.filter((each) => !isRight(each))).toEqual([]);
      expect(said).toEqual([]);
      expect(tally).toMatchObject({ texts: 1_000, unread: 0 });
    },
  );
});

describe('a find', () => {
  const chance = chanceFrom(22);
  const [added, named, removed, inMessage, hidden, long, last] = Array.from({ length: 7 }, () =>
    keyFrom(chance),
  );
  const commit = 'a1'.repeat(20);
  const textOf = (length: number) => {
    const many = 'é'.repeat(length);
    const lines = Buffer.from(`é\r\n\xff ${added}${added}\n${many}${long}`);
    return Buffer.concat([
      Buffer.from(`commit ${commit} (HEAD -> ${inMessage})\n\n`),
      Buffer.from(`    é${inMessage}\r${inMessage}\n\n`),
      diffOf('ignored/x', Buffer.from(`${hidden}`), `${removed}`),
      diffOf(`${named}`, lines, 'a'),
      Buffer.from(`\n${many}${last}`),
    ]);
  };
  const places = ({ found }: { readonly found: readonly Found[] }) =>
    found.map(({ find, commit: id, path, line, column }) => [find.key, id, path, line, column]);
  const expected = (length: number) => [
    [inMessage, commit, null, 1, 58],
    [inMessage, commit, null, 3, 6],
    [inMessage, commit, null, 3, 44],
    [named, commit, named, null, null],
    [added, commit, named, 5, 3],
    [added, commit, named, 5, 40],
    [long, commit, named, 6, length + 1],
    [last, commit, null, 26, length + 1],
  ];

  it.each([
    [1, 40],
    [2, 40],
    [3, 40],
    [7, 40_000],
    [36, 40_000],
    [37, 40_000],
    [1_000, 40_000],
    [65_535, 40_000],
    [65_537, 40_000],
    [1_000_000, 40_000],
  ])('has its place, in pieces of %i bytes', async (bytes, length) => {
    const text = textOf(length);
    const pieces = await readDiff(text, { pieceBytes: bytes });
    expect(places(pieces)).toEqual(expected(length));
    expect(pieces.tally.bytes).toBe(text.length);
  });
});

/** Returns the lines and files that a scan searches, and what it cannot read. */
async function read(text: string) {
  const { found, said, tally } = await readDiff(Buffer.from(`${text}\n`), { findsLines: true });
  const files = found.flatMap(({ path, line }) => (line === null ? [path] : []));
  const looked = found.flatMap(({ find, commit, path, line }) => {
    if (line === null || find.key === '') return [];
    const where = `${commit?.slice(0, 2) ?? ''}:${path ?? '(message)'}:${line}`;
    return [`${where}: ${path === null ? find.key : find.key.slice(1)}`];
  });
  const unread = said.map((line) => line.replace(/ cannot be read: (.*)\.$/, ': $1'));
  return { looked, files, unread, texts: tally.texts };
}

const id = (digits: string) => digits.repeat(20);
const file = (name: string, hunk: string) =>
  `diff --git a/${name} b/${name}\nindex 1..2 100644\n--- a/${name}\n+++ b/${name}\n${hunk}`;

describe('a hunk', () => {
  it('has as many lines as its header says, whatever they look like', async () => {
    const hunk = `@@ -1,4 +5,4 @@ f() {
 diff --git a/y b/y
--- a/y
+++ b/y
-@@ -1 +1 @@
+@@ -1 +1 @@
 commit ${id('ab')}
\\ No newline at end of file`;
    const { looked, files, unread } = await read(file('x', hunk));
    expect(looked).toEqual([':x:6: ++ b/y', ':x:7: @@ -1 +1 @@']);
    expect({ files, unread }).toEqual({ files: ['x'], unread: [] });
  });

  it('may have empty lines without a mark, or no lines', async () => {
    const { looked, unread } = await read(file('x', '@@ -0,0 +0,0 @@\n@@ -1,2 +1,3 @@\n\n\r\n+a'));
    expect({ looked, unread }).toEqual({ looked: [':x:3: a'], unread: [] });
  });

  it.each([
    ['a line with an unknown mark', '@@ -1,2 +1,2 @@\n a\nb', ':(message):7: b', 'line 7'],
    ['more lines than its header says', '@@ -1 +1,2 @@\n-a\n b', ':(message):7:  b', 'line 7'],
    ['fewer lines', '@@ -1 +1,3 @@\n-a\n+b', ':x:1: b', 'the diff ends'],
  ])('is reported if it has %s', async (_, hunk, line, why) => {
    const { looked, unread } = await read(file('x', hunk));
    expect(looked).toEqual([line]);
    expect(unread).toEqual([expect.stringContaining(`x: ${why}`)]);
  });

  it('that breaks off does not affect the next file and commit', async () => {
    const hunk = '@@ -1 +1,3 @@\n+a\n';
    const { looked, files } = await read(`${file('x', hunk)}${file('y', '@@ -0,0 +9 @@\n+b')}`);
    expect(looked).toEqual([':x:1: a', ':y:9: b']);
    expect(files).toEqual(['x', 'y']);
    const next = await read(`${file('x', hunk)}commit ${id('ab')}\n    c`);
    expect(next.looked).toEqual([
      ':x:1: a',
      `ab:(message):1: commit ${id('ab')}`,
      'ab:(message):2:     c',
    ]);
  });

  it('is not recognized in a message', async () => {
    const text = `commit ${id('ab')}\n@@ -1,2 +1,2 @@\n a\n b\n--- x\n@@ -1 +1 @@\n c`;
    const { looked } = await read(text);
    expect(looked).toHaveLength(7);
    expect(looked.every((line) => line.startsWith('ab:(message):'))).toBe(true);
  });
});

describe('a log', () => {
  it('names the commit of each line, also with marks and in mail format', async () => {
    const texts = [
      `commit ${id('a1')} (from ${id('b2')})\nAuthor: a\n\n    one\n`,
      file('x', '@@ -0,0 +1 @@\n+1'),
      `\ncommit - ${id('c3')}\n\n    two`,
      `From ${id('d4')} Mon Sep 17 00:00:00 2001\nthree\n${file('y', '@@ -0,0 +1 @@\n+4')}`,
      '-- \n2.39.5',
    ];
    const { looked, files, texts: count } = await read(texts.join('\n'));
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
    expect(files).toEqual(['x', 'y']);
    expect(count).toBe(5);
  });
});

describe('a merge', () => {
  const lines = ['  one', '- main', ' -side', '++both', ' +mine', '--- a', '+++ b', '', '\\ No'];
  const hunk = `@@@ -1,3 -1,4 +1,4 @@@ f()\n${lines.join('\n')}`;
  const why = 'its diff is a combined merge diff. Run git with -m';
  const shown = (line: string) => `commit ${id('ab')}\n${line}\n${hunk}\n${hunk}\nafter\n`;

  it.each([
    ['diff --cc b/x y\nindex 1,2..3\n--- a/b/x y\n+++ b/b/x y', 'b/x y'],
    ['diff --combined "\\303\\274"\nmode 1,2..3\nnew file mode 1', 'ü'],
    ['diff --cc x\ndeleted file mode 1,2\nBinary files differ', 'x'],
  ])('as %j is reported as unread, and its lines are skipped', async (header, path) => {
    const text = `${shown(header)}${shown('no header')}`;
    const { looked, files, unread } = await read(text);
    const ranges = '@@@ -1,3 -1,4 +1,4 ';
    expect(files).toEqual([path, ranges]);
    expect(unread).toEqual([
      expect.stringContaining(`${path} in commit abababababab: ${why}`),
      expect.stringContaining(`${ranges} in commit abababababab: ${why}`),
    ]);
    expect(looked.map((line) => line.replace(/.*: /, ''))).toEqual([
      `commit ${id('ab')}`,
      'after',
      `commit ${id('ab')}`,
      'no header',
      'after',
    ]);
  });

  it('ends with the next file or commit, and is not reported if it is ignored', async () => {
    const merge = `diff --cc ignored/x\n${hunk}\n`;
    const next = file('y', '@@ -0,0 +1 @@\n+a\n');
    const { looked, unread } = await read(`${merge}${next}${merge}commit ${id('ab')}`);
    expect(looked).toEqual([':y:1: a', `ab:(message):1: commit ${id('ab')}`]);
    expect(unread).toEqual([]);
  });
});

describe('a file', () => {
  const header = (name: string, ...lines: readonly string[]) =>
    [`diff --git a/${name} b/${name}`, ...lines].join('\n');
  const added = '@@ -0,0 +1 @@\n+a';

  it.each([
    [header('x', 'old mode 100644', 'new mode 100755'), ['x']],
    [header('x', 'new file mode 100644', 'index 0..1'), ['x']],
    [header('x y', 'new file mode 100644', 'index 0..1'), ['x y']],
    [header('b/x', 'new file mode 100644', 'index 0..1'), ['b/x']],
    [header('x b/x', 'new file mode 100644', 'index 0..1'), ['x b/x']],
    ['diff --git x x\nnew file mode 100644', ['x']],
    ['diff --git one/x three/x\nnew file mode 100644', ['one/x three/x']],
    ['diff --git a/x b/y z\nsimilarity index 100%\nrename from x\nrename to y z', ['y z']],
    ['diff --git a/x b/b/y\ndissimilarity index 9%\ncopy from x\ncopy to b/y', ['b/y']],
    [`diff --git x y\n--- x\n+++ y\n${added}`, ['y']],
    [`diff --git one/x three/x\n--- one/x\n+++ three/x\n${added}`, ['three/x']],
    [`${header('x y', '--- a/x y\t', '+++ b/x y\t')}\n${added}`, ['x y']],
    ['diff --git "a/\\303\\274 " "b/\\303\\274 "\nnew file mode 100644', ['ü ']],
    ['diff --git "a/\\" \\"" "b/\\" \\""\nnew file mode 100644', ['" "']],
    [
      `--- a\n+++ "\\ab\\bt\\tn\\nv\\vf\\fr\\rq\\"s\\\\"\n${added}`,
      ['\x07b\bt\tn\nv\vf\fr\rq"s\\'],
    ],
    [`--- a\n+++ "\\000\\1012\\303\\274"\n${added}`, ['\0A2ü']],
    [`--- a\n+++ "b\n${added}`, ['"b']],
    [
      `${header('x', 'old mode 1', 'new mode 2')}\r\n${header('y', 'new file mode 1')}\r`,
      ['x', 'y'],
    ],
    [`--- x\t2026\n+++ y\t2026\n${added}\n--- v\n+++ w\n@@ -1 +0,0 @@\n-a`, ['y', 'w']],
    ['--- a message\nthat begins\n+++ like one', []],
    ['--- a message\n+++ that begins\nlike one', []],
  ])('in %j is named %j', async (text, files) => {
    expect((await read(text)).files).toEqual(files);
  });

  it.each([
    [header('x', 'deleted file mode 100644', '--- a/x', '+++ /dev/null', '@@ -1 +0,0 @@', '-a')],
    [header('x', 'deleted file mode 100644', 'Binary files a/x and /dev/null differ')],
    ['--- x\n+++ /dev/null\t1970\n@@ -1 +0,0 @@\n-a'],
  ])('that is deleted has no name to search: %j', async (text) => {
    const { files, unread, texts } = await read(text);
    expect({ files, unread, texts }).toEqual({ files: [], unread: [], texts: 0 });
  });

  it.each([
    [header('x', 'index 1..2', 'Binary files a/x and b/x differ'), 'x'],
    [header('x', 'index 1..2', 'GIT binary patch', 'literal 1', 'Ic', ''), 'x'],
    ['Binary files x and z and b/y differ\nOnly in z: a', 'y'],
  ])('whose contents are left out is reported as unread: %j', async (text, path) => {
    const { files, unread } = await read(text);
    expect(files).toEqual([path]);
    expect(unread).toEqual([`${path}: the diff leaves out its contents. Run git with -a`]);
  });

  it('of diff -u has every line before its hunks searched', async () => {
    const { looked } = await read(`--- a\n+++ b\nc\n--- d\n+++ e\n${added}\n--- f`);
    const messages = looked.filter((line) => line.includes('message'));
    expect(messages.map((line) => line.split(': ')[1])).toEqual([
      '--- a',
      '+++ b',
      'c',
      '--- d',
      '+++ e',
      '--- f',
    ]);
  });

  it('that is not a diff is an error', async () => {
    for (const text of ['a\n', 'a\n--- b\n+++ c\n d\n', 'diff --gitx\n', '\n', '@@ -1 +1 @@\n+a']) {
      await expect(readDiff(Buffer.from(text))).rejects.toThrow('it is not a diff');
    }
    const head = 'new file mode 100644';
    for (const text of [
      '--- b\n+++ c\n@@ -1 +0,0 @@\n-a\n',
      header('x', head),
      `commit ${id('a')}`,
    ]) {
      expect((await readDiff(Buffer.from(text))).said).toEqual([]);
    }
    expect((await readDiff(Buffer.from(''))).said).toEqual(['Standard input is empty.']);
  });
});
