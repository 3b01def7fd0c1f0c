/** Checks docs/key-format.md: recomputes its figures and runs its code. */
import { execFileSync, spawnSync } from 'node:child_process';
import { generateKey, isKey, keyPattern, redactKeys } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { RULES } from '../src/tools/cli/commands/rules.js';
import { blocksUnder } from './support/pages.ts';
import { readProjectFile } from './support/source.ts';

const PAGE = 'docs/key-format.md';
const text = readProjectFile(PAGE);
const PREFIX = { prefix: 'acme' } as const;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The figure in the table row that starts with this text. */
function figure(row: string): string {
  const line = text.split('\n').find((each) => each.startsWith(`| ${row} `));
  if (line === undefined) throw new Error(`${PAGE} has no row ${row}`);
  return line.split('|')[2]?.trim() ?? '';
}

const many = (count: number) => Array.from({ length: count }, () => generateKey(PREFIX));

/** Random characters of the alphabet. */
function randomText(length: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(length));
  return Array.from(bytes, (byte) => ALPHABET.charAt(byte % 62)).join('');
}

function inBase62(number: number): string {
  const rest = Math.floor(number / 62);
  return (rest === 0 ? '' : inBase62(rest)) + ALPHABET.charAt(number % 62);
}

describe('the figures of the format', () => {
  const bits = 26 * Math.log2(62);

  it('match the computed numbers', () => {
    expect(figure('length of a key')).toContain(`34 to 53, \`acme\` ${many(1)[0]?.length ?? 0}`);
    expect(figure('entropy')).toBe(`26 · log2 62 = ${bits.toFixed(1)} bits`);
    expect(figure('a random text')).toBe(`1 in ${(62 ** 6).toLocaleString('en')} (62⁶)`);
    expect(figure('the first character')).toContain(`\`${inBase62(2 ** 32 - 1)}\``);
    const ofHint = 4 * Math.log2(62);
    const told = `${ofHint.toFixed(1)} bits; ${(bits - ofHint).toFixed(1)} stay unknown`;
    expect(figure('what a hint reveals')).toBe(told);
  });

  it('match the computed probabilities', () => {
    const seconds = 62 ** 26 / (1e9 * 1e6);
    const years = Math.floor(Math.log10(seconds / 31_557_600));
    expect([years, figure('10⁹ guesses').slice(0, 4)]).toEqual([24, '10²⁴']);
    const pairs = 62 ** 26 / (1e12 ** 2 / 2);
    expect([pairs.toPrecision(1), figure('the same pair')]).toEqual(['8e+22', '1 in 8 · 10²²']);
    const collision = (keys: number) => 100 * (1 - Math.exp((-keys * (keys - 1)) / 2 / 62 ** 4));
    const both = `${collision(100).toFixed(2)} %, ${collision(1_000).toFixed(1)} %`;
    expect(figure('two of 100 keys')).toBe(both);
    expect(text).toContain('eleven in twelve');
    expect(Math.round(62 / 5)).toBe(12);
  });
});

describe('a checksum', () => {
  it('is wrong for all of twenty thousand random texts in the right shape', () => {
    const shape = new RegExp(`^(?:${keyPattern('acme')})$`);
    const texts = Array.from({ length: 20_000 }, () => `acme_${randomText(32)}`);
    expect(texts.every((each) => shape.test(each))).toBe(true);
    expect(texts.filter((each) => isKey(each, PREFIX))).toEqual([]);
  });

  it('notices one wrong character anywhere', () => {
    for (const key of many(20)) {
      for (let at = 'acme_'.length; at < key.length; at += 1) {
        const others = [...ALPHABET].filter((each) => each !== key[at]);
        const changed = others.map((each) => key.slice(0, at) + each + key.slice(at + 1));
        expect(changed.filter((each) => isKey(each, PREFIX))).toEqual([]);
      }
    }
  });

  it('begins with a digit from 0 to 4, as in the pattern for scanners', () => {
    const [rule = ''] = blocksUnder(PAGE, '## Finding keys in code', 'toml');
    const pattern = new RegExp(`^${/regex = '''(.+)'''/.exec(rule)?.[1] ?? ''}$`);
    const keys = many(10_000);
    expect(keys.filter((key) => !pattern.test(key))).toEqual([]);
    expect(new Set(keys.map((key) => key.at(-6)))).toEqual(new Set('01234'));
  });

  it('belongs to the key in the drawing', () => {
    const drawing = readProjectFile('docs/figures/key-anatomy.svg');
    const parts = drawing.matchAll(/class="mono large[^>]*>(\w+)</g);
    const drawn = Array.from(parts, ([, part]) => part).join('');
    expect(isKey(drawn, PREFIX)).toBe(true);
    expect(text).toContain(`\`acme_…${drawn.slice(-4)}\``);
  });
});

describe('the patterns', () => {
  const [key = ''] = many(1);

  it('find and hide a key next to any characters', () => {
    const pattern = new RegExp(keyPattern('acme'));
    for (const before of ['\\n', '%3D', 'MY_', 'x', '0', '"', '=', ' ', ':', '/', '\n']) {
      expect(pattern.exec(`${before}${key}x`)?.[0], before).toBe(key);
      expect(redactKeys(`${before}${key}x`, PREFIX)).toBe(`${before}acme_[redacted]x`);
    }
  });
});

describe('the rule for scanners', () => {
  it('is the one that the command prints', () => {
    const [rule = ''] = blocksUnder(PAGE, '## Finding keys in code', 'toml');
    expect(RULES.gitleaks(['acme'])).toContain(rule.trim());
  });
});

const hasPython = spawnSync('python3', ['--version']).status === 0;

describe.skipIf(!hasPython)('the checksum in Python', () => {
  it('gives the same result', () => {
    const [script = ''] = blocksUnder(PAGE, '## Finding keys in code', 'python');
    const keys = many(50);
    const wrong = keys.map((key) => key.slice(0, -1) + (key.endsWith('0') ? '1' : '0'));
    const asked = `${script}\nimport sys\nprint([is_key(line.strip()) for line in sys.stdin])`;
    const input = [...keys, ...wrong].join('\n');
    const answer = execFileSync('python3', ['-c', asked], { input, encoding: 'utf8' });
    expect(answer.match(/True/g)).toHaveLength(50);
    expect(answer.trim()).toMatch(/^\[(?:True, ){50}(?:False, ){49}False\]$/);
  });
});
