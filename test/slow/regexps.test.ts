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
const GIVEN: Readonly<Record<string, string>> = {
  prefix: 'acme',
  'keyPattern(prefix)': keyPattern('acme'),
  // Of `.keyscopeignore`, whose patterns may have two `**` and six `*`, and paths are short.
  "isRooted ? '' : '(?:[^/]+/)*'": '(?:[^/]+/)*',
  whole: 'docs/[^/]*\\.md',
  "isFolder ? '/' : '(?:/|$)'": '(?:/|$)',
};

const SOURCE = new URL('../../src/', import.meta.url);
const names = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' });
const files = names.filter((name) => name.endsWith('.ts')).map(parse);

function parse(name: string): ts.SourceFile {
  const text = readFileSync(new URL(name, SOURCE), 'utf8');
  return ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
}

/** Constants by their names. */
type Constants = ReadonlyMap<string, ts.Expression>;

function constantsIn(file: ts.SourceFile): Constants {
  const constants = new Map<string, ts.Expression>();
  function visit(node: ts.Node): void {
    if (ts.isVariableDeclaration(node) && node.initializer) {
      declare(node.name, node.initializer);
    }
    ts.forEachChild(node, visit);
  }
  function declare(name: ts.BindingName, value: ts.Expression): void {
    const list = ts.isAsExpression(value) ? value.expression : value;
    if (ts.isIdentifier(name)) {
      constants.set(name.text, value);
    } else if (ts.isArrayLiteralExpression(list)) {
      for (const [index, element] of list.elements.entries()) {
        constants.set(name.elements[index]?.getText() ?? '', element);
      }
    }
  }
  visit(file);
  return constants;
}

/** What a file may import of others. */
const everywhere: Constants = new Map(files.flatMap((file) => [...constantsIn(file)]));

/** The text of an expression that is put together of constants. */
function textOf(node: ts.Expression, constants: Constants): string {
  const read = (part: ts.Expression) => textOf(part, constants);
  if (ts.isStringLiteralLike(node) || ts.isNumericLiteral(node)) return node.text;
  if (ts.isTemplateExpression(node)) {
    const spans = node.templateSpans.map((span) => read(span.expression) + span.literal.text);
    return node.head.text + spans.join('');
  }
  const given = GIVEN[node.getText()];
  if (given !== undefined) return given;
  if (ts.isIdentifier(node)) {
    const constant = constants.get(node.text);
    if (constant !== undefined) return read(constant);
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    return String(Number(read(node.left)) + Number(read(node.right)));
  }
  if (ts.isPropertyAccessExpression(node) && node.name.text === 'length') {
    return String(read(node.expression).length);
  }
  const file = node.getSourceFile().fileName;
  throw new Error(`${file}: of which texts is ${node.getText()} made? Say so in GIVEN.`);
}

/** Source and flags of a literal, and of a call of `RegExp`. */
function readRegexp(node: ts.Node, constants: Constants): Omit<Found, 'where'> | null {
  if (ts.isRegularExpressionLiteral(node)) {
    const end = node.text.lastIndexOf('/');
    return { source: node.text.slice(1, end), flags: node.text.slice(end + 1) };
  }
  const isMade = ts.isNewExpression(node) || ts.isCallExpression(node);
  if (!isMade || node.expression.getText() !== 'RegExp') return null;
  const [pattern, flags] = node.arguments ?? [];
  return {
    source: pattern === undefined ? '' : textOf(pattern, constants),
    flags: flags === undefined ? '' : textOf(flags, constants),
  };
}

/**
 * Every regular expression that stands in a file, and every one that it puts together of constants.
 */
function regexpsIn(file: ts.SourceFile): readonly Found[] {
  const constants = new Map([...everywhere, ...constantsIn(file)]);
  const found: Found[] = [];
  function visit(node: ts.Node): void {
    const regexp = readRegexp(node, constants);
    if (regexp !== null) {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart());
      found.push({ where: `${file.fileName}:${line + 1}`, ...regexp });
    }
    ts.forEachChild(node, visit);
  }
  visit(file);
  return found;
}

const all = files.flatMap(regexpsIn);
// For scanners that others write.
const pattern: Found = { where: 'keyPattern', source: keyPattern('acme'), flags: 'g' };

function verdict({ source, flags }: Omit<Found, 'where'>): string {
  return checkSync(source, flags).status;
}

describe('regular expressions', () => {
  it('are found, written out and put together', () => {
    const sources = all.map(({ source }) => source);
    expect(all.length).toBeGreaterThan(20);
    for (const part of ['[!#$%&', '{0,63}', 'acme_[0-9A-Za-z]{32}']) {
      const isFound = sources.some((source) => source.includes(part));
      expect(isFound, part).toBe(true);
    }
  });

  it.each([...all, pattern])(
    'take time in proportion to the input: $where',
    (found) => {
      expect(verdict(found)).toBe('safe');
    },
    60_000,
  );

  it.each(['a+$', '^a*a*$', '^(a+)+$', '^(?:ab|a|b)*c$', '^(?:ab)*(?:ab)*$'])(
    'are told from slow ones: %s',
    (source) => {
      expect(verdict({ source, flags: '' })).toBe('vulnerable');
    },
  );

  it('fold no letter to one beyond ASCII: none has the flags i and u', () => {
    const folding = all.filter(({ flags }) => flags.includes('i') && /[uv]/.test(flags));
    expect(folding).toEqual([]);
  });
});
