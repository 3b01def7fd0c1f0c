/**
 * Every regular expression in the source runs in linear time. A static analysis checks each one for
 * all inputs. The functions around them are measured by `npm run lab -- linear`.
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

// The parts of expressions that are not constants of their file. A prefix consists of letters,
// digits and `_`.
const GIVEN: Readonly<Record<string, string>> = {
  prefix: 'acme',
  'keyPattern(prefix)': keyPattern('acme'),
};

const SOURCE = new URL('../../src/', import.meta.url);
const names = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' });
const files = names.filter((name) => name.endsWith('.ts')).map(parse);

function parse(name: string): ts.SourceFile {
  const text = readFileSync(new URL(name, SOURCE), 'utf8');
  return ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
}

/** Constants by name. */
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

/** Constants that any file may import. */
const everywhere: Constants = new Map(files.flatMap((file) => [...constantsIn(file)]));

/** The text of an expression composed of constants. */
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
  throw new Error(`${file}: the value of ${node.getText()} is unknown. Add it to GIVEN.`);
}

/** The source and flags of a literal or a `RegExp` call. */
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

/** Every regular expression in a file, both literals and those composed of constants. */
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
// For scanners written by others.
const pattern: Found = { where: 'keyPattern', source: keyPattern('acme'), flags: 'g' };

function verdict({ source, flags }: Omit<Found, 'where'>): string {
  return checkSync(source, flags).status;
}

describe('regular expressions', () => {
  it('are found, both literal and composed', () => {
    const sources = all.map(({ source }) => source);
    expect(all.length).toBeGreaterThan(20);
    for (const part of ['[!#$%&', '{0,63}', 'acme_[0-9A-Za-z]{32}']) {
      const isFound = sources.some((source) => source.includes(part));
      expect(isFound, part).toBe(true);
    }
  });

  it.each([...all, pattern])(
    'run in linear time: $where',
    (found) => {
      expect(verdict(found)).toBe('safe');
    },
    60_000,
  );

  it.each(['a+$', '^a*a*$', '^(a+)+$', '^(?:ab|a|b)*c$', '^(?:ab)*(?:ab)*$'])(
    'are recognized as slow: %s',
    (source) => {
      expect(verdict({ source, flags: '' })).toBe('vulnerable');
    },
  );

  it('match no non-ASCII letter by case folding: none has both flags i and u', () => {
    const folding = all.filter(({ flags }) => flags.includes('i') && /[uv]/.test(flags));
    expect(folding).toEqual([]);
  });
});
