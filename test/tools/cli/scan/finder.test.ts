/** Keys in bytes, at any place and in pieces of any size. */
import { isKey } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { type Find, finderFor } from '../../../../src/tools/cli/scan/finder.js';
import {
  CONTEXTS,
  chanceFrom,
  countIn,
  HIDDEN,
  innocentText,
  keyFrom,
  nearKeyFrom,
} from '../../../support/planted-keys.ts';

const create = finderFor(['acme']);

/** Returns the finds in a text that arrives in pieces of `size` bytes. */
function findIn(text: string | Buffer, pieceBytes = 65_536, make = create): readonly Find[] {
  const finder = make();
  const bytes = Buffer.from(text);
  // One buffer for all pieces, as when a file is read.
  const piece = Buffer.alloc(Math.min(pieceBytes, bytes.length));
  const found: Find[] = [];
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    const length = bytes.copy(piece, 0, start, start + pieceBytes);
    found.push(...finder.push(piece.subarray(0, length)));
    piece.fill('#');
  }
  return [...found, ...finder.end()];
}

/** Returns the keys in a text, in which nothing may look like a key without being one. */
function keysIn(text: string | Buffer, pieceBytes?: number): readonly string[] {
  const found = findIn(text, pieceBytes);
  expect(found.filter(({ checksum }) => checksum === 'wrong')).toEqual([]);
  return found.map(({ key }) => key);
}

describe('1,000 keys in each kind of text', () => {
  it.each(Object.entries(CONTEXTS))('are found in %s', (_, context) => {
    const chance = chanceFrom(1);
    let found = 0;
    for (let round = 0; round < 1_000; round += 1) {
      const key = keyFrom(chance);
      const text = context(key);
      const keys = keysIn(text);
      expect(new Set(keys)).toEqual(new Set([key]));
      expect(keys).toHaveLength(countIn(text, key));
      found += 1;
    }
    expect(found).toBe(1_000);
  });

  it.each(Object.entries(HIDDEN))('are not found in %s, as the docs say', (_, context) => {
    const chance = chanceFrom(2);
    for (let round = 0; round < 100; round += 1) {
      expect(keysIn(context(keyFrom(chance)))).toEqual([]);
    }
  });
});

describe('a string that only resembles a key', () => {
  it('is never found, in 8 MB of them', () => {
    const text = innocentText(8_000_000, chanceFrom(3));
    const shapes = text.match(/acme_[0-9A-Za-z]{32}/g) ?? [];
    expect(shapes.length).toBeGreaterThan(20_000);
    expect(keysIn(text)).toEqual([]);
  });

  it('does not hide a key that starts inside it', () => {
    const chance = chanceFrom(4);
    for (let length = 0; length <= 32; length += 1) {
      const key = keyFrom(chance);
      const near = nearKeyFrom(chance).slice(0, 'acme_'.length + length);
      const found = findIn(`${near}${key}`).filter(({ checksum }) => checksum === 'right');
      expect(found).toMatchObject([{ key }]);
    }
  });

  it.each([
    ['a hash', 'acme_d41d8cd98f00b204e9800998ecf8427e'],
    ['a hash in capitals', 'acme_D41D8CD98F00B204E9800998ECF8427E'],
    ['a long name', 'acme_thisIsALongNameOfSomethingThatIsNoKey'],
    ['a name of 33 letters', `acme_${'x'.repeat(33)}`],
    ['a key that was cut', `acme_${'x'.repeat(31)}`],
  ])('is not found if it is %s', (_, text) => {
    expect(findIn(`${text}\n${text}`)).toEqual([]);
  });
});

describe('1,000 keys with one wrong character', () => {
  it.each(Object.entries(CONTEXTS))('are marked in %s', (_, context) => {
    const chance = chanceFrom(9);
    for (let round = 0; round < 1_000; round += 1) {
      const near = nearKeyFrom(chance);
      const text = context(near);
      // With a letter or a digit after it, it is part of a longer word.
      const alone = new RegExp(`${near}(?![0-9A-Za-z])`, 'g');
      const count = Buffer.from(text).toString('latin1').match(alone)?.length ?? 0;
      const found = findIn(text, 1 + Math.floor(chance() * 300));
      expect(found.map(({ key, checksum }) => [key, checksum])).toEqual(
        Array.from({ length: count }, () => [near, 'wrong']),
      );
    }
  });
});

describe('the bytes around keys', () => {
  it('make no difference: a regular expression with look-ahead finds the same', () => {
    const chance = chanceFrom(8);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(chance() * list.length)] as T;
    const count = { right: 0, wrong: 0 };
    for (let round = 0; round < 3_000; round += 1) {
      const parts = Array.from({ length: 6 }, () => {
        const key = pick([keyFrom, keyFrom, nearKeyFrom])(chance);
        const from = Math.floor(chance() * 8);
        const whole = pick([key, key, key.slice(from), key.slice(0, -from)]);
        return (
          whole + pick(['', '', '_', 'acme_', 'x', '\n', 'a'.repeat(Math.floor(chance() * 70))])
        );
      });
      const text = parts.join('');
      const shapes = [...text.matchAll(/(?=(acme_[0-9A-Za-z]{32})([0-9A-Za-z]?))/g)];
      const expected = shapes.flatMap(([, shape = '', next]) => {
        if (isKey(shape, { prefix: 'acme' })) return [[shape, 'right']];
        return next === '' ? [[shape, 'wrong']] : [];
      });
      const found = findIn(text, 1 + Math.floor(chance() * 300));
      expect(found.map(({ key, checksum }) => [key, checksum])).toEqual(expected);
      for (const { checksum } of found) count[checksum] += 1;
    }
    expect(count.right).toBeGreaterThan(5_000);
    expect(count.wrong).toBeGreaterThan(500);
  });
});

describe('a find', () => {
  const chance = chanceFrom(5);
  const one = keyFrom(chance);
  const other = keyFrom(chance);
  const text = `é1\r\n\n  ${one} ${other}\n${'ü'.repeat(300)}€😀${one}`;

  it('has its line, its prefix and its hint', () => {
    const found = findIn(text).map(({ line, hint, prefix }) => ({ line, hint, prefix }));
    expect(found).toEqual([
      { line: 3, hint: one.slice(-4), prefix: 'acme' },
      { line: 3, hint: other.slice(-4), prefix: 'acme' },
      { line: 4, hint: one.slice(-4), prefix: 'acme' },
    ]);
  });

  it.each([1, 2, 3, 7, 36, 37, 38, 64, 1_000])('has its line in pieces of %i bytes', (bytes) => {
    expect(findIn(text, bytes)).toEqual(findIn(text));
  });

  it('appears once, wherever a piece ends in it', () => {
    const around = `${'\n'.repeat(40)}${one}${other}${'-'.repeat(40)}`;
    const whole = findIn(around);
    expect(whole.map(({ key }) => key)).toEqual([one, other]);
    for (let first = 0; first <= around.length; first += 1) {
      for (const second of [0, 1, 5, 36, 37, 80]) {
        const finder = create();
        const bytes = Buffer.from(around);
        const cut = Math.min(first + second, around.length);
        const pieces = [bytes.subarray(0, first), bytes.subarray(first, cut), bytes.subarray(cut)];
        const found = pieces.flatMap((piece) => finder.push(piece));
        expect([...found, ...finder.end()]).toEqual(whole);
      }
    }
  });
});

describe('several prefixes', () => {
  const prefixes = ['acme', 'acme_live', 'x', 'e_live', 'abcdefghijklmnopqrst'];
  const make = finderFor([...prefixes, 'acme']);
  const chance = chanceFrom(6);
  const keys = prefixes.map((prefix) => keyFrom(chance, prefix));

  it.each([1, 13, 34, 53, 54, 4_096])('are found together, in pieces of %i bytes', (bytes) => {
    const found = findIn(keys.join('_'), bytes, make);
    expect(found.map(({ prefix, key }) => [prefix, key])).toEqual(
      keys.map((key, index) => [prefixes[index], key]),
    );
    expect(found.every(({ key, prefix }) => isKey(key, { prefix }))).toBe(true);
  });

  it('do not mark a key of one as a wrong one of another', () => {
    const key = keyFrom(chance, 'acme_live');
    const near = nearKeyFrom(chance, 'acme_live');
    const found = findIn(`${key} ${near}`, 4_096, finderFor(['live', 'acme_live']));
    expect(found).toMatchObject([
      { prefix: 'acme_live', checksum: 'right' },
      { prefix: 'acme_live', checksum: 'wrong' },
    ]);
    const short = keyFrom(chance, 'live');
    expect(findIn(`acme_${short}`, 4_096, finderFor(['live', 'acme_live']))).toMatchObject([
      { prefix: 'live', key: short, checksum: 'right' },
    ]);
  });

  it('must be valid', () => {
    for (const wrong of ['', 'ACME', 'a-b', '_a'])
      expect(() => finderFor([wrong])).toThrow(TypeError);
  });
});

describe('a line of 50 MB', () => {
  it('is searched in pieces', () => {
    const key = keyFrom(chanceFrom(7));
    const finder = create();
    const piece = Buffer.alloc(1_000_000, 'acme_');
    for (let round = 0; round < 50; round += 1) expect(finder.push(piece)).toEqual([]);
    const [find, ...more] = finder.push(Buffer.from(`${key}\n`));
    expect(find).toMatchObject({ key, line: 1 });
    expect(more).toEqual([]);
  });
});
