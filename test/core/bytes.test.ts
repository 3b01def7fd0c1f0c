import { describe, expect, it } from 'vitest';
import { encoder, equalText } from '../../src/core/bytes.js';

describe('equalText', () => {
  it('returns true only for equal texts, wherever they differ', () => {
    const text = 'h1.p1$0123456789abcdef';
    expect(equalText(text, `${text}`)).toBe(true);
    expect(equalText('', '')).toBe(true);
    for (let index = 0; index < text.length; index++) {
      const other = `${text.slice(0, index)}!${text.slice(index + 1)}`;
      expect(equalText(text, other)).toBe(false);
      expect(equalText(other, text)).toBe(false);
    }
  });

  it('returns false if one text begins with the other', () => {
    expect(equalText('abc', 'ab')).toBe(false);
    expect(equalText('ab', 'abc')).toBe(false);
    expect(equalText('', 'a')).toBe(false);
    expect(equalText('ab', 'ab\0')).toBe(false);
  });

  it('returns false if two differences would cancel out', () => {
    expect(equalText('ab', 'ba')).toBe(false);
    expect(equalText('aa', 'bb')).toBe(false);
  });
});

describe('encoder', () => {
  it('writes UTF-8', () => {
    expect([...encoder.encode('aé🦊')]).toEqual([0x61, 0xc3, 0xa9, 0xf0, 0x9f, 0xa6, 0x8a]);
  });
});
