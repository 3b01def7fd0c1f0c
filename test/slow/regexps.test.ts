/**
 * No regular expression of the source takes longer than its input: each is analysed, for inputs
 * that nobody thought of too. How long the functions around them take is measured by `npm run
 * test:linear`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { keyPattern } from 'keyscope';
import { checkSync } from 'recheck';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

interface Found {
  readonly where: string;
  readonly source: string;
  readonly flags: string;
}

// What an expression is made of and is no constant of its file: a prefix is letters, digits and
// `_`, whichever.
const GIVEN: Readonly<Record<string, string>> = { prefix: 'acme' };

/**
 * Every regular expression that stands in a file, and every one that it puts together of constants.
 */
function regexpsIn(file: string): readonly Found[] {
  const text = readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const constants = new Map<string, ts.Expression>();
  const found: Found[] = [];

  function textOf(node: ts.Expression | undefined): string | number {
    if (node === undefined) return '';
    if (ts.isStringLiteralLike(node)) return node.text;
    if (ts.isNumericLiteral(node)) return Number(node.text);
    if (ts.isTemplateExpression(node))
      return node.templateSpans.reduce(
        (all, span) => all + textOf(span.expression) + span.literal.text,
        node.head.text,
      );
    if (ts.isIdentifier(node)) return GIVEN[node.text] ?? textOf(constants.get(node.text));
    const isSum =
      ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken;
    if (isSum) return Number(textOf(node.left)) + Number(textOf(node.right));
    if (ts.isPropertyAccessExpression(node) && node.name.text === 'length')
      return String(textOf(node.expression)).length;
    throw new Error(`${file}: of which texts is ${node.getText()} made? Say so in GIVEN.`);
  }

  function visit(node: ts.Node): void {
    const where = `${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer)
      constants.set(node.name.text, node.initializer);
    if (ts.isVariableDeclaration(node) && ts.isArrayBindingPattern(node.name) && node.initializer) {
      const list = ts.isAsExpression(node.initializer)
        ? node.initializer.expression
        : node.initializer;
      const values = ts.isArrayLiteralExpression(list) ? list.elements : [];
      for (const [i, value] of values.entries())
        constants.set(String(node.name.elements[i]?.getText()), value);
    }
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/');
      found.push({ where, source: node.text.slice(1, end), flags: node.text.slice(end + 1) });
    }
    const called = ts.isNewExpression(node) || ts.isCallExpression(node) ? node : undefined;
    if (called?.expression.getText() === 'RegExp') {
      const [pattern, flags] = [0, 1].map((i) => String(textOf(called.arguments?.[i]))) as [
        string,
        string,
      ];
      found.push({ where, source: pattern, flags });
    }
    ts.forEachChild(node, visit);
  }
  visit(source);
  return found;
}

const files = readdirSync(new URL('../../src', import.meta.url), {
  recursive: true,
  encoding: 'utf8',
});
const all = files.filter((file) => file.endsWith('.ts')).flatMap(regexpsIn);
// For scanners that others write.
const pattern: Found = { where: 'keyPattern', source: keyPattern('acme'), flags: 'g' };

const verdict = ({ source, flags }: Pick<Found, 'source' | 'flags'>) =>
  checkSync(source, flags).status;

describe('regular expressions', () => {
  it('are found, written out and put together', () => {
    const sources = all.map(({ source }) => source);
    expect(all.length).toBeGreaterThan(20);
    for (const part of ['[!#$%&', '{0,63}', 'acme_[0-9A-Za-z]{32}'])
      expect(sources.some((source) => source.includes(part))).toBe(true);
  });

  it.each([...all, pattern])(
    'take time in proportion to the input: $where',
    (found) => {
      expect(verdict(found)).toBe('safe');
    },
    60_000,
  );

  it.each(['a+$', '^a*a*$', '^(a+)+$', '^(?:ab|a|b)*c$', '^(?:ab)*(?:ab)*$'])(
    'the check tells others: %s',
    (source) => {
      expect(verdict({ source, flags: '' })).toBe('vulnerable');
    },
  );

  it('fold no letter to one beyond ASCII: none has the flags i and u', () => {
    const folding = all.filter(({ flags }) => flags.includes('i') && /[uv]/.test(flags));
    expect(folding).toEqual([]);
  });
});
