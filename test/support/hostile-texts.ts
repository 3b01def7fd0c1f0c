/**
 * Names that tenants and strangers might choose, and checks that no output lets them take effect.
 */
import { expect } from 'vitest';

/** Each controls a terminal, a code host, a viewer, a CI runner or a spreadsheet. */
export const HOSTILE_TEXTS: readonly string[] = [
  '\u001b[2J\u001b[31mred',
  '\u009b2J',
  '\u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007',
  'bell\u0007',
  'a\rb',
  'a\nb',
  'a\r\nb',
  'a\tb',
  'a\u0000b',
  'a\u0085b',
  'a\u2028b\u2029c',
  'a\u202eb\u2066c\u2069',
  'a\u200bb\u200d\ufeffc\u00ad',
  'a\u{e0041}b',
  'a\ud800b',
  'a\udc00',
  '@acme/team @everyone',
  'fixes #1, acme/app#2, GH-3, !4, %5, &6, ~"label"',
  '<!-- hidden -->',
  '<img src=x onerror=alert(1)>',
  '&lt;b&gt; &#64;team',
  'a`b``c',
  '`',
  'a|b\\|c',
  '[x](javascript:alert(1))',
  '](https://evil.example)',
  '\\[x](1)',
  'https://evil.example www.evil.example me@evil.example',
  '![x](//evil.example/x.png)',
  '*bold* _it_ ~~gone~~ $x$',
  '# Heading',
  '::error file=a.js::no',
  '  ::stop-commands::x',
  '\n::set-output name=x::y',
  '##[error]no',
  '##vso[task.setvariable variable=x]y',
  "##teamcity[message text='x']",
  '%0A::error::x',
  '=1+1',
  '+1',
  '-1',
  "'; DROP TABLE keys; --",
  '"}, {"a": 1',
  '{{x}} {0}',
  '',
  ' ',
  'x'.repeat(10_000),
];

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** Asserts that a line shows all its characters and that no CI runner takes it for a command. */
export function expectPlainLine(line: string): void {
  expect(line).not.toMatch(INVISIBLE);
  expect(line).not.toMatch(/^\s*::/);
  expect(line).not.toMatch(/##[\w-]*\[/);
}

/** Asserts the same for a program's whole output. */
export function expectPlainLines(text: string): void {
  for (const line of text.split('\n')) expectPlainLine(line);
}

/** A line of Markdown without code spans and backslash escapes. */
function markedPartOf(line: string): string {
  return line.replace(/\\[!-/:-@[-`{-~]|(?<!`)(`+)(?!`)(?:.*?[^`])\1(?!`)/g, ' ');
}

/** Asserts that Markdown has no markup, links to nothing and notifies nobody. */
export function expectPlainMarkdown(text: string): void {
  for (const line of text.split('\n')) {
    expect(line).not.toMatch(INVISIBLE);
    expect(markedPartOf(line)).not.toMatch(/[@#!$%&~](?=[\w"])|:\/\/|www\.|GH-\d|[`*_[\]<>|]/i);
    // A host looks for these in the rendered text, where the backslash is gone.
    expect(line).not.toMatch(/\\[@#!$%&~](?=[\w"])/);
  }
}

/** Asserts that a plain SARIF message has no link. */
export function expectPlainMessage(text: string): void {
  expect(text).not.toMatch(INVISIBLE);
  expect(text.replaceAll(/\\[\\[\]]/g, '')).not.toMatch(/[\\[\]]/);
}
