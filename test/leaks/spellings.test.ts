import { describe, expect, it } from 'vitest';
import { maskDecoded } from '../../src/core/masking.js';
import { spellOut } from '../../src/leaks/spellings.js';

const SECRET = '0A9zQ7mK2xWv5TbYc8LpRn3dHg17jpNY';
const SECRET_LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('spellOut', () => {
  const KEY = `acme_${SECRET}`;
  const mask = (text: string): string => text.replaceAll(SECRET, '[masked]');
  const each = (write: (character: string, index: number) => string): string =>
    Array.from(KEY, write).join('');
  const hex = (character: string, width = 2): string =>
    character.charCodeAt(0).toString(16).padStart(width, '0');
  const percent = (text: string): string => text.replaceAll(/./gs, (one) => `%${hex(one)}`);
  const wide = (character: string): string =>
    String.fromCharCode(character.charCodeAt(0) + 0xff01 - 0x21);
  const script = (character: string): string =>
    /[A-Za-z]/.test(character) ? `&${character}scr;` : character;

  // Each of these was left, or partly left, because the code looked only for the plain text.
  it.each<[string, string]>([
    ['unchanged', KEY],
    ['its underscore percent-encoded', KEY.replace('_', '%5F')],
    ['one letter percent-encoded', KEY.replace('W', '%57')],
    ['percent-encoded', percent(KEY)],
    ['in upper case, percent-encoded', percent(KEY).toUpperCase()],
    ['percent-encoded twice', encodeURIComponent(percent(KEY))],
    [
      'percent-encoded at every other character',
      each((one, index) => (index % 2 ? percent(one) : one)),
    ],
    ['percent-encoded nine times', percent(KEY).replaceAll('%', `%${'25'.repeat(8)}`)],
    ['percent-encoded, each octet of it', percent(percent(percent(KEY)))],
    ['percent-encoded as in old scripts', each((one) => `%u${hex(one, 4)}`)],
    ['escaped as in JSON', each((one) => `\\u${hex(one, 4)}`)],
    ['escaped as in JSON in JSON', each((one) => `\\\\u${hex(one, 4).toUpperCase()}`)],
    ['escaped as in scripts in JSON', each((one) => `\\\\x${hex(one)}`)],
    ['escaped as in scripts', each((one) => `\\x${hex(one)}`)],
    ['escaped as in scripts, in braces', each((one) => `\\u{${hex(one, 6)}}`)],
    ['escaped as in HTML', each((one) => `&#x${hex(one)};`)],
    ['escaped as in HTML, in upper case', each((one) => `&#X${hex(one, 6).toUpperCase()};`)],
    ['escaped as in HTML, decimal', each((one) => `&#${one.charCodeAt(0)};`)],
    ['escaped as in HTML, with zeros', each((one) => `&#000${one.charCodeAt(0)};`)],
    ['escaped as in HTML twice', each((one) => `&amp;amp;#${one.charCodeAt(0)};`)],
    ['with a named underscore', KEY.replace('_', '&lowbar;')],
    ['with an underscore of another name', KEY.replace('_', '&amp;UnderBar;')],
    ['with names in its escapes', each((one) => `&percnt;${hex(one)}`)],
    ['with names in its references', each((one) => `&amp;&num;${one.charCodeAt(0)}&semi;`)],
    ['with a named backslash', each((one) => `&bsol;u${hex(one, 4)}`)],
    ['in named letters', each(script)],
    ['in wide letters', each(wide)],
    ['in wide letters, percent-encoded', encodeURIComponent(each(wide))],
    ['in wide letters, escaped', each((one) => `\\u${hex(wide(one), 4)}`)],
    ['in bold letters', each((one) => boldOf(one))],
    ['in bold letters, escaped', each((one) => escaped(boldOf(one)))],
    ['with spaces of no width', each((one) => `${one}\u200b`)],
    ['with named soft hyphens', each((one) => `${one}&shy;`)],
    ['with named joiners', each((one) => `${one}&zwnj;`)],
    ['with soft hyphens, percent-encoded', each((one) => `${one}%C2%AD`)],
    ['with overrides', each((one) => `\u202e${one}\u2066`)],
    ['with selectors and joiners of graphemes', each((one) => `${one}\ufe0f\u034f`)],
    ['with thin spaces', each((one) => `${one}\u2009`)],
    ['with accents', each((one) => `${one}\u0301`)],
    ['with line breaks', each((one) => `${one}\r\n`)],
    ['with escaped line breaks', each((one) => `${one}\\n`)],
    ['with half a pair', each((one) => `${one}\ud800`)],
    ['in all of these alternately', each(mixed)],
    ['in all of these, percent-encoded', encodeURIComponent(each(mixed))],
  ])('decodes a key that is written %s', (_, written) => {
    const masked = maskDecoded(`https://h/?q=${written}`, mask, spellOut);
    expect(masked).toMatch(/^https:\/\/h\/\?q=acme(?:_|%5F|&(?:amp;)?\w+;)\[masked\]$/);
  });

  function boldOf(character: string): string {
    const place = SECRET_LETTERS.indexOf(character);
    return place === -1 ? character : String.fromCodePoint(0x1d400 + place);
  }

  function escaped(text: string): string {
    return text.replaceAll(/[^ -~]/g, (unit) => `\\u${hex(unit, 4)}`);
  }

  function mixed(one: string, index: number): string {
    const spellings = [percent(one), wide(one), `&#x${hex(one)};\u00ad`, `\\u${hex(one, 4)}`];
    return spellings[index % spellings.length] ?? one;
  }

  it.each([
    'https://h/a%20b/%E6%9D%B1?x=%2541&y=\\u0041#&amp;',
    'Zo\u00eb \u6771\u4eac \u{1f511} e\u0301 &copy; C:\\new',
    '%zz %u12 \\u00 \\u{} &# &#x; &#99999999; &constructor; &; \\',
  ])('reveals no key in a text without one: %s', (text) => {
    expect(maskDecoded(text, mask, spellOut)).toBe(text);
  });
});
