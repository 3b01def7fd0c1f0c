/** Rules for other scanners: the pattern in several regex dialects, and the file formats. */
import { spawnSync } from 'node:child_process';
import { isKey, keyPattern } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { RULES, scannerPattern } from '../../../../src/tools/cli/commands/rules.js';
import {
  CONTEXTS,
  chanceFrom,
  countIn,
  keyFrom,
  nearKeyFrom,
} from '../../../support/planted-keys.ts';

const PREFIXES = ['acme', 'acme_test'];
const PATTERN = scannerPattern('acme');

const chance = chanceFrom(11);
const KEYS = Array.from({ length: 1_000 }, () => keyFrom(chance));

/** Contexts in which every match is a key; the others need the checksum. */
const LINES = KEYS.map((key, index) => {
  const contexts = Object.entries(CONTEXTS).filter(([name]) => !/another/.test(name));
  const [, context] = contexts[index % contexts.length] ?? [];
  return { key, text: Buffer.from(context?.(key) ?? '').toString('latin1') };
});

describe('scannerPattern', () => {
  it('is keyPattern with a narrower first character of the checksum', () => {
    const whole = new RegExp(`^(?:${keyPattern('acme')})$`);
    const rule = new RegExp(`^(?:${PATTERN})$`);
    expect(KEYS.every((key) => whole.test(key) && rule.test(key))).toBe(true);
    const near = Array.from({ length: 1_000 }, () => nearKeyFrom(chance));
    expect(near.every((key) => whole.test(key))).toBe(true);
  });

  it('finds every key in JavaScript', () => {
    for (const { key, text } of LINES) {
      const found = text.match(new RegExp(PATTERN, 'g')) ?? [];
      const keys = found.filter((each) => isKey(each, { prefix: 'acme' }));
      expect(keys).toHaveLength(countIn(Buffer.from(text, 'latin1'), key));
    }
  });

  const isThere = (command: string) => spawnSync(command, ['--version']).status === 0;
  const script = 'import re,sys;[print(m) for m in re.findall(sys.argv[1],sys.stdin.read())]';
  const dialects: readonly (readonly [string, string, readonly string[]])[] = [
    ['grep -P (PCRE)', 'grep', ['-aoP', '-e', PATTERN]],
    ['grep -E (POSIX)', 'grep', ['-aoE', '-e', PATTERN]],
    ['Python', 'python3', ['-c', script, PATTERN]],
  ];

  for (const [name, command, args] of dialects) {
    it.skipIf(!isThere(command))(`finds every key with ${name}`, () => {
      const input = Buffer.from(LINES.map(({ text }) => text).join('\n'), 'latin1');
      const env = { ...process.env, LC_ALL: 'C', PYTHONIOENCODING: 'latin1' };
      const { stdout } = spawnSync(command, args, { input, env, encoding: 'latin1' });
      const found = new Set(stdout.split('\n'));
      expect(KEYS.filter((key) => !found.has(key))).toEqual([]);
    });
  }
});

describe('rules', () => {
  it.each(Object.entries(RULES))('for %s contain every prefix', (_, print) => {
    const text = print(PREFIXES);
    for (const prefix of PREFIXES) expect(text).toContain(prefix);
    expect(text.endsWith('\n')).toBe(true);
  });

  it('for trufflehog, semgrep and pre-commit are YAML', () => {
    expect(parse(RULES.trufflehog(PREFIXES))).toEqual({
      detectors: PREFIXES.map((prefix) => ({
        name: `${prefix.replace('_', '-')}-api-key`,
        keywords: [`${prefix}_`],
        regex: { key: scannerPattern(prefix) },
      })),
    });
    const { rules } = parse(RULES.semgrep(PREFIXES)) as { readonly rules: readonly object[] };
    expect(rules).toHaveLength(2);
    expect(rules[0]).toMatchObject({
      id: 'acme-api-key',
      languages: ['regex'],
      severity: 'ERROR',
      'pattern-regex': PATTERN,
    });
    const hook = parse(RULES['pre-commit'](PREFIXES)) as unknown;
    const entry = 'npx keyscope scan --prefix acme,acme_test --';
    expect(hook).toMatchObject({ repos: [{ hooks: [{ entry }] }] });
  });

  it('for GitHub include a sample key that the pattern and its boundaries match', () => {
    const text = RULES.github(['acme']);
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(text)?.[1] ?? '';
    const key = field('Test string');
    expect(isKey(key, { prefix: 'acme' })).toBe(true);
    expect(field('Secret format')).toBe(PATTERN);
    expect(field('Before secret')).toBe('\\A|[^0-9A-Za-z]');
    expect(field('After secret')).toBe('\\z|[^0-9A-Za-z]');
  });
});
