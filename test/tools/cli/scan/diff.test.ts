/** Keys in diffs, wherever they are in a line and however the bytes come. */
import { describe, expect, it } from 'vitest';
import { keysInDiff } from '../../../../src/tools/cli/scan/diff.js';
import { createScan, type Found } from '../../../../src/tools/cli/scan/scanner.js';
import { CONTEXTS, chanceFrom, countIn, keyFrom } from '../../../support/planted-keys.ts';

/** What is found in a diff that comes in pieces of so many bytes. */
async function findIn(diff: Buffer, pieceBytes = 65_536) {
  const said: string[] = [];
  const scan = createScan(['acme'], (path) => path.startsWith('ignored/'), {
    isJson: false,
    width: 80,
    line: async () => {},
    json: async () => {},
    say: (text) => void said.push(text),
    paint: (_, text) => text,
  });
  // One memory for all pieces, as a file is read.
  const piece = Buffer.alloc(pieceBytes);
  async function* pieces() {
    for (let start = 0; start < diff.length; start += pieceBytes) {
      const length = diff.copy(piece, 0, start, start + pieceBytes);
      yield piece.subarray(0, length);
      piece.fill('#');
    }
  }
  const found: Found[] = [];
  for await (const each of keysInDiff(scan, pieces())) found.push(each);
  return { found, said, tally: scan.tally };
}

/** A diff that adds a text, between lines that it removes and lines of context. */
function diffOf(path: string, text: Buffer, around: string): Buffer {
  const lines = text.toString('latin1').split('\n');
  const head = `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}\n`;
  const hunk = `@@ -3,3 +3,${lines.length + 2} @@ ${around}\n-${around}\n ${around}\n`;
  const added = lines.map((line) => `+${line}\n`).join('');
  return Buffer.from(`${head}${hunk}${added} ${around}\n\\ No newline at end of file\n`, 'latin1');
}

describe('1,000 keys in each kind of text', () => {
  it.each(Object.entries(CONTEXTS))('are found where a diff adds them: %s', async (_, context) => {
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
    const { found, tally, said } = await findIn(Buffer.concat(diffs));
    expect(new Set(found.map(({ find }) => find.key))).toEqual(new Set(keys));
    expect(found).toHaveLength(count);
    const isRight = ({ find, path }: Found) => path === `f${keys.indexOf(find.key)}`;
    expect(found.filter((each) => !isRight(each))).toEqual([]);
    expect(said).toEqual([]);
    expect(tally).toMatchObject({ texts: 1_000, unread: 0 });
  });
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
  ])('says where it is, in pieces of %i bytes', async (bytes, length) => {
    const text = textOf(length);
    const pieces = await findIn(text, bytes);
    expect(places(pieces)).toEqual(expected(length));
    expect(pieces.tally.bytes).toBe(text.length);
  });

  it('is there once where a merge is shown for each parent, and once a commit', async () => {
    const shown = (id: string) => `commit ${id}\n\n    ${inMessage}\n\n`;
    const diff = diffOf('x', Buffer.from(`${added}`), 'a');
    const of = async (...ids: string[]) => {
      const parts = ids.flatMap((id) => [Buffer.from(shown(id)), diff]);
      const { found, tally } = await findIn(Buffer.concat(parts));
      return [found.length, tally.texts];
    };
    const one = 'a'.repeat(40);
    const other = 'b'.repeat(40);
    expect(await of(one)).toEqual([2, 2]);
    expect(await of(one, one)).toEqual([2, 3]);
    expect(await of(one, other)).toEqual([4, 4]);
  });
});
