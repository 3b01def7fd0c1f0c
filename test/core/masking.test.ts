import { describe, expect, it } from 'vitest';
import {
  createKeyMask,
  hasInvisible,
  looksLikeKey,
  maskKeyParts,
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

  it('leave what people see, pairs of surrogates and spaces included', () => {
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
  ])('says of %j: %s', (text, expected) => {
    expect(looksLikeKey(text)).toBe(expected);
    // Twice: nothing is remembered from one call to the next.
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
    // Ids of requests and names of files stay readable.
    ['req_01HZXK3V8W5Q2J7N9M4B6C1D0F my_repository', null],
    [`acme_${SECRET.slice(0, 7)}`, null],
  ])('writes %j', (text, masked) => {
    expect(mask(text)).toBe(masked ?? text);
  });

  // A text that a person typed is stored only if it does not look like a key: see readText.
  it('leaves nothing that looks like a key', () => {
    expect(looksLikeKey(mask(`a_${SECRET} acme_${SECRET} b_${SECRET}`))).toBe(false);
  });
});

describe('maskKeyParts', () => {
  it.each([
    [`any_${SECRET}`, 'any_[redacted]'],
    [`any_${SECRET}${SECRET}`, 'any_[redacted]'],
    [`any_${SECRET.slice(0, 20)}`, 'any_[redacted]'],
    [`any_${SECRET.slice(0, 19)}`, null],
  ])('writes %j', (text, masked) => {
    expect(maskKeyParts(text)).toBe(masked ?? text);
  });

  it('leaves nothing that looks like a key, wherever it is cut', () => {
    const masked = maskKeyParts(`x_${SECRET}Q y_${SECRET}`);
    for (let end = 0; end <= masked.length; end++) {
      expect(looksLikeKey(masked.slice(0, end))).toBe(false);
    }
  });
});
