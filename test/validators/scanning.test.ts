/**
 * Checks the output of `keyscope scan --sarif` against the SARIF schema, and that of `keyscope
 * rules` with a TOML parser and RE2, whose dialect gitleaks, trufflehog and GitLab use.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { RULES, scannerPattern } from '../../src/tools/cli/commands/rules.js';
import type { Output } from '../../src/tools/cli/output.js';
import { createReport } from '../../src/tools/cli/scan/report.js';
import { installedIn } from '../support/installed.ts';
import { captureOutput } from '../support/output.ts';
import { CONTEXTS, chanceFrom, countIn, keyFrom } from '../support/planted-keys.ts';

interface Validate {
  (value: unknown): boolean;
  readonly errors?: unknown;
}
interface Ajv {
  readonly default: new (options: object) => { compile(schema: object): Validate };
}
interface Formats {
  readonly default: { readonly default: (ajv: object) => void };
}
interface Toml {
  parse(text: string): Readonly<Record<string, unknown>>;
}
interface Matcher {
  find(): boolean;
  group(): string;
}
interface Re2 {
  readonly RE2JS: { compile(pattern: string): { matcher(text: string): Matcher } };
}

const { describe, load } = installedIn('validators', 'smol-toml');
const SCHEMA = new URL(
  'node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json',
  import.meta.url,
);

/** The lines that a report prints. */
async function printed(print: (output: Output) => Promise<void>): Promise<string> {
  const { output, lines } = captureOutput();
  await print(output);
  return lines.join('\n');
}

describe('a SARIF log', () => {
  async function createValidate(): Promise<Validate> {
    const { default: Ajv } = (await load('ajv-draft-04')) as Ajv;
    const { default: formats } = (await load('ajv-formats')) as Formats;
    const ajv = new Ajv({ strict: false, unicodeRegExp: false });
    formats.default(ajv);
    return ajv.compile(JSON.parse(readFileSync(SCHEMA, 'utf8')) as object);
  }

  const find = { line: 3, column: 7, prefix: 'acme', hint: 'I1VW' };
  const commit = '0'.repeat(40);
  const tally = { texts: 4, bytes: 100, found: 0, unread: 0 };

  it('is valid with finds, without finds, and after an incomplete scan', async () => {
    const validate = await createValidate();
    for (const [paths, unread] of [
      [[], 0],
      [[], 2],
      [['a b/ü%.txt', '-', '/etc/x y', null, '../x', 'a\nb'], 0],
    ] as const) {
      const log = await printed(async (output) => {
        const report = createReport(output, 'sarif', '1.2.3');
        for (const path of paths) {
          await report.found({ ...find, path, commit: null }, undefined);
          await report.found({ ...find, path, commit }, null);
          await report.found({ ...find, path, commit, line: null, column: null }, null);
        }
        await report.end({ ...tally, unread });
      });
      const value = JSON.parse(log) as { runs: { results: unknown[] }[] };
      expect({ valid: validate(value), errors: validate.errors }).toEqual({
        valid: true,
        errors: null,
      });
      expect(value.runs[0]?.results).toHaveLength(3 * paths.length);
    }
  });

  it('is invalid if a field is missing', async () => {
    const validate = await createValidate();
    expect(validate({ version: '2.1.0' })).toBe(false);
    expect(validate({ version: '2.1.0', runs: [{ tool: {} }] })).toBe(false);
  });
});

describe('rules', () => {
  const prefixes = ['acme', 'acme_test'];
  const rules = prefixes.map((prefix) => ({
    id: `${prefix.replace('_', '-')}-api-key`,
    description: `API key that begins with ${prefix}_`,
    regex: scannerPattern(prefix),
    keywords: [`${prefix}_`],
  }));

  it('for gitleaks and GitLab are TOML, one inside the other', async () => {
    const { parse } = (await load('smol-toml')) as Toml;
    expect(parse(RULES.gitleaks(prefixes))).toEqual({ extend: { useDefault: true }, rules });
    const { secrets } = parse(RULES.gitlab(prefixes)) as {
      readonly secrets: { readonly passthrough: readonly { readonly value: string }[] };
    };
    const [passthrough, ...more] = secrets.passthrough;
    expect(passthrough).toMatchObject({ type: 'raw', target: 'gitleaks.toml' });
    expect(more).toEqual([]);
    expect(parse(passthrough?.value ?? '')).toEqual({ extend: { path: '/gitleaks.toml' }, rules });
  });

  it('have a pattern that finds every key with RE2', async () => {
    const { RE2JS } = (await load('re2js')) as Re2;
    const pattern = RE2JS.compile(scannerPattern('acme'));
    const chance = chanceFrom(12);
    for (const [name, context] of Object.entries(CONTEXTS)) {
      // If a match begins before the key, only a look-ahead finds the key: see the documentation.
      if (/beginning of another/.test(name)) continue;
      for (let round = 0; round < 20; round += 1) {
        const key = keyFrom(chance);
        const text = Buffer.from(context(key)).toString('latin1');
        const matcher = pattern.matcher(text);
        let found = 0;
        while (matcher.find()) found += matcher.group() === key ? 1 : 0;
        expect(found, name).toBe(countIn(context(key), key));
      }
    }
  });
});
