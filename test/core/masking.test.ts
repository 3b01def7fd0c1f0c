import { describe, expect, it } from 'vitest';
import {
  createKeyMask,
  hasInvisible,
  looksLikeKey,
  maskAndCut,
  maskDecoded,
  replaceInvisible,
} from '../../src/core/masking.js';

const SECRET = '0A9zQ7mK2xWv5TbYc8LpRn3dHg17jpNY';

describe('hasInvisible and replaceInvisible', () => {
  it.each([
    '\0',
    '\x1b',
    '\x85',
    '\xad',
    '\u200b',
    '\u202e',
    '\u2028',
    '\u2029',
    '\ufeff',
    '\u{e0041}',
    '\ud800',
    '\udc00',
  ])('find %j', (character) => {
    expect(hasInvisible(`a${character}b`)).toBe(true);
    expect(replaceInvisible(`a${character}b`)).toBe('a\ufffdb');
    expect(replaceInvisible(`a${character}`, () => '?')).toBe('a?');
  });

  it('leave visible characters, including surrogate pairs and spaces', () => {
    const text = 'Zoë 東京 🔑 \u00a0 -';
    expect(hasInvisible(text)).toBe(false);
    expect(replaceInvisible(text)).toBe(text);
  });
});

describe('looksLikeKey', () => {
  it.each([
    [`acme_${SECRET}`, true],
    [`found "x_${SECRET}" here`, true],
    [`_${'a1B2'.repeat(8)}`, true],
    [SECRET, false],
    [`acme_${SECRET}0`, false],
    [`acme_${SECRET.slice(1)}`, false],
    [`md5_${'0a'.repeat(16)}`, false],
    [`md5_${'0A'.repeat(16)}`, false],
  ])('returns for %j: %s', (text, expected) => {
    expect(looksLikeKey(text)).toBe(expected);
    // Twice, because a call must not depend on the one before.
    expect(looksLikeKey(text)).toBe(expected);
  });
});

describe('createKeyMask', () => {
  const mask = createKeyMask('acme');

  it.each([
    [`acme_${SECRET}`, 'acme_[redacted]'],
    [`acme_${SECRET}acme_${SECRET}`, 'acme_[redacted]acme_[redacted]'],
    [`cut acme_${SECRET.slice(0, 8)}`, 'cut acme_[redacted]'],
    [`other_${SECRET}.`, 'other_[redacted].'],
    // Request ids and file names stay readable.
    ['req_01HZXK3V8W5Q2J7N9M4B6C1D0F my_repository', null],
    [`acme_${SECRET.slice(0, 7)}`, null],
  ])('writes %j', (text, masked) => {
    expect(mask(text)).toBe(masked ?? text);
  });

  // A typed text is stored only if it does not look like a key: see readText.
  it('leaves no text that looks like a key', () => {
    expect(looksLikeKey(mask(`a_${SECRET} acme_${SECRET} b_${SECRET}`))).toBe(false);
  });
});

describe('maskDecoded', () => {
  const KEY = `acme_${SECRET}`;
  const mask = (text: string): string => text.replaceAll(SECRET, '[masked]');
  const hex = (character: string): string => character.charCodeAt(0).toString(16);
  const percent = (text: string): string => text.replaceAll(/./gs, (one) => `%${hex(one)}`);

  it.each<[string, string]>([
    ['unchanged', KEY],
    ['its underscore percent-encoded', KEY.replace('_', '%5F')],
    ['one letter percent-encoded', KEY.replace('W', '%57')],
    ['percent-encoded', percent(KEY)],
    ['in upper case, percent-encoded', percent(KEY).toUpperCase()],
    [
      'percent-encoded at every other character',
      KEY.replaceAll(/(.)(.)/g, (_, one: string, next: string) => one + percent(next)),
    ],
    ['percent-encoded twice', encodeURIComponent(percent(KEY))],
    ['percent-encoded twice, each octet of it', percent(percent(KEY))],
  ])('finds a key that is written %s', (_, written) => {
    const masked = maskDecoded(`https://h/?q=${written}`, mask);
    expect(masked).toMatch(/^https:\/\/h\/\?q=acme(?:_|%5F)\[masked\]$/);
    expect(looksLikeKey(`x ${written}`)).toBe(true);
    expect(createKeyMask('acme')(`${written}.`)).toBe('acme_[redacted].');
  });

  it.each([
    'https://h/a%20b/%E6%9D%B1?x=%2541&y=\\u0041#&amp;',
    'Zo\u00eb \u6771\u4eac \u{1f511} e\u0301 &copy; C:\\new',
    '%zz %u12 \\u00 \\u{} &# &#x; &#99999999; &constructor; &; \\',
  ])('leaves a text without a key unchanged: %s', (text) => {
    expect(maskDecoded(text, mask)).toBe(text);
    expect(looksLikeKey(text)).toBe(false);
    expect(createKeyMask('acme')(text)).toBe(text);
  });

  it('leaves the rest of a text unchanged if its key is plain', () => {
    expect(createKeyMask('acme')(`a%20b\u00ad/${KEY}\n`)).toBe('a%20b\u00ad/acme_[redacted]\n');
    const half = `a%20b/acme_${SECRET.slice(0, 9)}%${hex(SECRET.charAt(9))}${SECRET.slice(10)}`;
    expect(createKeyMask('acme')(half)).toBe('a b/acme_[redacted]');
  });

  it('masks what is found only in the text as it is written', () => {
    const maskEscape = (text: string): string => text.replaceAll('%41', '[masked]');
    expect(maskDecoded('a%41b', maskEscape)).toBe('a[masked]b');
  });

  it('masks a key next to something that only looks like an escape', () => {
    expect(createKeyMask('acme')(`%${KEY}`)).not.toContain(SECRET.slice(0, 8));
    expect(createKeyMask('acme')(`%acme_${SECRET.slice(0, 9)}`)).toBe('%acme_[redacted]');
  });
});

describe('maskAndCut', () => {
  const mask = createKeyMask('acme');
  const hex = (one: string): string => one.charCodeAt(0).toString(16);
  const percent = (text: string): string => text.replaceAll(/./gs, (one) => `%${hex(one)}`);

  it('masks a text and cuts it to its length', () => {
    expect(maskAndCut(`a acme_${SECRET} b`, mask, 200)).toBe('a acme_[redacted] b');
    expect(maskAndCut('x'.repeat(201), mask, 200)).toBe('x'.repeat(200));
    expect(maskAndCut('x/'.repeat(2 ** 19), mask, 200)).toBe('x/'.repeat(100));
  });

  /** Returns the parts of the key that a text still contains, also after decoding. */
  function leftIn(text: string): readonly string[] {
    const decode = (encoded: string): string =>
      encoded.replaceAll(/%([2-7][\da-f])/g, (_, code) => String.fromCharCode(Number(`0x${code}`)));
    const decoded = decode(decode(text));
    const parts = Array.from({ length: 25 }, (_, start) => SECRET.slice(start, start + 8));
    return parts.filter((part) => text.includes(part) || decoded.includes(part));
  }

  const SPELLINGS: readonly (readonly [string, (text: string) => string])[] = [
    ['plain', (text) => text],
    ['percent-encoded', percent],
    ['percent-encoded twice', (text) => encodeURIComponent(percent(text))],
    ['percent-encoded twice, each octet of it', (text) => percent(percent(text))],
  ];
  // The run that is masked brings the end of the text into view.
  const FILLINGS = [(length: number) => 'x/'.repeat(length).slice(0, length)].concat(
    (length) => `acme_${'A'.repeat(Math.max(8, length - 6))}/`,
  );

  it.each(SPELLINGS)('leaves no part of a key that lies across a cut: %s', (_, write) => {
    expect(leftIn(maskAndCut(write(SECRET), mask, 2_000))).not.toEqual([]);
    for (const fill of FILLINGS) {
      for (const prefix of ['acme_', 'other_']) {
        const key = write(`${prefix}${SECRET}`);
        // Around the last cut, and around the first, whose place is no promise.
        for (let start = 200 - key.length; start <= 8_100; start += start < 200 ? 1 : 3) {
          if (start > 200 && start < 7_000) continue;
          const text = `${fill(Math.max(0, start))}${key}!${'y'.repeat(9_000)}`;
          expect(leftIn(maskAndCut(text, mask, 200)), `${prefix} at ${start}`).toEqual([]);
        }
      }
    }
  });
});
