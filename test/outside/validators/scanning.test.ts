/**
 * Checks the output of `keyscope rules` with a TOML parser and RE2, whose dialect gitleaks,
 * trufflehog and GitLab use.
 */
import { expect, it } from 'vitest';
import { RULES, scannerPattern } from '../../../src/tools/cli/commands/rules.js';
import { installedIn } from '../../support/installed.ts';
import { CONTEXTS, chanceFrom, countIn, keyFrom } from '../../support/planted-keys.ts';

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

const { describe, load } = installedIn('outside', 'smol-toml');
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
