/**
 * `keyscope rules`: rules for other scanners. They match patterns only and cannot compute the
 * checksum; the pattern covers its first character.
 */
import { createKeyFormat, ENTROPY_LENGTH } from '../../../core/key.js';
import { type Call, prefixesOf, readPrefixes } from '../call.js';
import { suggest, usageError } from '../command-error.js';

/** Prints the rules for a scanner. Queries no database. */
export async function run({ given, output, config }: Call): Promise<undefined> {
  const { operand } = given;
  if (!isScanner(operand)) {
    const names = Object.keys(RULES);
    throw usageError(`Unknown scanner. Use ${names.join(', ')}.${suggest(operand, names)}`);
  }
  const prefixes = readPrefixes(given) ?? prefixesOf(await config());
  const rules = RULES[operand](prefixes);
  if (output.isJson) await output.json({ scanner: operand, rules });
  else await output.lines(rules);
}

/** The scanners that rules are printed for. */
export type Scanner = 'gitleaks' | 'trufflehog' | 'semgrep' | 'github' | 'gitlab' | 'pre-commit';

/** By scanner: makes the text of a file, or of a form's fields, from prefixes. */
export const RULES: Readonly<Record<Scanner, (prefixes: readonly string[]) => string>> = {
  gitleaks: gitleaksRules,
  trufflehog: trufflehogRules,
  semgrep: semgrepRules,
  github: githubFields,
  gitlab: gitlabRules,
  'pre-commit': preCommitHook,
};

/** Whether `text` is a known scanner. */
export function isScanner(text: string): text is Scanner {
  return Object.hasOwn(RULES, text);
}

/** 2³² − 1 is `4gfFC3` in base 62, so a checksum starts with 0 to 4. */
export function scannerPattern(prefix: string): string {
  return `${prefix}_[0-9A-Za-z]{${ENTROPY_LENGTH}}[0-4][0-9A-Za-z]{5}`;
}

/** `acme-live-api-key` of `acme_live`. */
function idOf(prefix: string): string {
  return `${prefix.replaceAll('_', '-')}-api-key`;
}

function gitleaksRules(prefixes: readonly string[]): string {
  return `# .gitleaks.toml
[extend]
useDefault = true

${prefixes.map(gitleaksRule).join('\n')}`;
}

function gitleaksRule(prefix: string): string {
  return `[[rules]]
id = "${idOf(prefix)}"
description = "API key that begins with ${prefix}_"
regex = '''${scannerPattern(prefix)}'''
keywords = ["${prefix}_"]
`;
}

/** GitLab runs gitleaks. Its built-in rules stay active. */
function gitlabRules(prefixes: readonly string[]): string {
  return `# .gitlab/secret-detection-ruleset.toml
[secrets]
description = "API keys, in addition to the rules of GitLab"

[[secrets.passthrough]]
type = "raw"
target = "gitleaks.toml"
value = """
[extend]
path = "/gitleaks.toml"

${prefixes.map(gitleaksRule).join('\n')}"""
`;
}

function trufflehogRules(prefixes: readonly string[]): string {
  const detectors = prefixes.map(
    (prefix) => `  - name: ${idOf(prefix)}
    keywords:
      - ${prefix}_
    regex:
      key: '${scannerPattern(prefix)}'
`,
  );
  return `# trufflehog filesystem --config=keys.yaml .
detectors:
${detectors.join('')}`;
}

function semgrepRules(prefixes: readonly string[]): string {
  const rules = prefixes.map(
    (prefix) => `  - id: ${idOf(prefix)}
    languages: [regex]
    severity: ERROR
    message: An API key that begins with ${prefix}_. Revoke it, then remove it.
    pattern-regex: '${scannerPattern(prefix)}'
`,
  );
  return `# semgrep scan --config keys.yaml
rules:
${rules.join('')}`;
}

/** Keeps GitHub's default boundaries, so a key next to a letter or a digit is not found. */
function githubFields(prefixes: readonly string[]): string {
  const patterns = prefixes.map(
    (prefix) => `Pattern name: ${idOf(prefix)}
Secret format: ${scannerPattern(prefix)}
Before secret: \\A|[^0-9A-Za-z]
After secret: \\z|[^0-9A-Za-z]
Test string: ${sampleOf(prefix)}
`,
  );
  return patterns.join('\n');
}

/** The sample key of the docs: its checksum is valid, and it is not in use. */
function sampleOf(prefix: string): string {
  return createKeyFormat(prefix).complete('0123456789ABCDEFGHIJKLMNOP');
}

/** pre-commit passes the staged files, with their staged contents. */
function preCommitHook(prefixes: readonly string[]): string {
  return `# .pre-commit-config.yaml
repos:
  - repo: local
    hooks:
      - id: keyscope-scan
        name: API keys
        language: system
        entry: npx keyscope scan --prefix ${prefixes.join(',')} --
`;
}
