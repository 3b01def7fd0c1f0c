/**
 * `keyscope rules`: rules for scanners of others. They take a pattern and no code, and cannot check
 * the checksum: the pattern has of it what a pattern can, its first character.
 */
import { createKeyFormat, ENTROPY_LENGTH } from '../../../core/key.js';
import { type Call, prefixesOf, readPrefixes } from '../call.js';
import { suggest, usageError } from '../command-error.js';

/** Prints rules for a scanner of others. Asks nobody. */
export async function run({ given, output, config }: Call): Promise<undefined> {
  const { operand } = given;
  if (!isScanner(operand)) {
    const names = Object.keys(RULES);
    throw usageError(`Write one of ${names.join(', ')}.${suggest(operand, names)}`);
  }
  const prefixes = readPrefixes(given) ?? prefixesOf(await config());
  const rules = RULES[operand](prefixes);
  if (output.isJson) await output.json({ scanner: operand, rules });
  else await output.lines(rules);
}

/** The scanners that rules are printed for. */
export type Scanner = 'gitleaks' | 'trufflehog' | 'semgrep' | 'github' | 'gitlab' | 'pre-commit';

/** By scanner: from prefixes to the text of a file, or of a form. */
export const RULES: Readonly<Record<Scanner, (prefixes: readonly string[]) => string>> = {
  gitleaks: gitleaksRules,
  trufflehog: trufflehogRules,
  semgrep: semgrepRules,
  github: githubFields,
  gitlab: gitlabRules,
  'pre-commit': preCommitHook,
};

/** Whether rules can be printed for it. */
export function isScanner(text: string): text is Scanner {
  return Object.hasOwn(RULES, text);
}

/** 2³² − 1 is `4gfFC3` in base 62, so that no checksum begins with more than a 4. */
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

/** GitLab runs gitleaks; of its own rules, the ones that it ships with stay. */
function gitlabRules(prefixes: readonly string[]): string {
  return `# .gitlab/secret-detection-ruleset.toml
[secrets]
description = "API keys beside the rules of GitLab"

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

/** Its default boundaries are kept: a key that touches a letter or a digit is not found by it. */
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

/** The key that the documentation draws: its checksum is right, and nobody has it. */
function sampleOf(prefix: string): string {
  return createKeyFormat(prefix).complete('0123456789ABCDEFGHIJKLMNOP');
}

/**
 * What is staged, as a diff. Each option takes a setting of git, or of the repository, out of the
 * way that would leave a line or a path out.
 */
export const STAGED_DIFF: string = [
  'git diff --cached -a --src-prefix=a/ --dst-prefix=b/',
  '--no-renames --no-relative --no-textconv --no-ext-diff --no-color',
].join(' ');

function preCommitHook(prefixes: readonly string[]): string {
  const scan = `npx keyscope scan --diff --prefix ${prefixes.join(',')}`;
  return `# .pre-commit-config.yaml
repos:
  - repo: local
    hooks:
      - id: keyscope-scan
        name: API keys
        language: system
        entry: bash -o pipefail -c '${STAGED_DIFF} | ${scan}'
        pass_filenames: false
        always_run: true
`;
}
