/** Forms that this project avoids because each hides something from the reader. */
import ts from 'typescript';
import { placeOf, type Source, visit } from './source.ts';

const K = ts.SyntaxKind;

/** Strips parentheses, `as` and `satisfies`. */
function bare(node: ts.Expression): ts.Expression {
  const wrapped =
    ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isSatisfiesExpression(node);
  return wrapped ? bare(node.expression) : node;
}

function textsOf(list: ts.ArrayLiteralExpression): readonly string[] {
  return list.elements.map((element) => bare(element).getText()).sort();
}

/** `[a, b] = [b, a]`: the same places on both sides. */
function isSwap(left: ts.ArrayLiteralExpression, right: ts.ArrayLiteralExpression): boolean {
  return textsOf(left).join('\n') === textsOf(right).join('\n');
}

function isAssignment(node: ts.Node): node is ts.BinaryExpression {
  if (!ts.isBinaryExpression(node)) return false;
  const { kind } = node.operatorToken;
  return kind >= K.FirstAssignment && kind <= K.LastAssignment;
}

/** Whether the value of an expression is unused, so that it acts as a statement. */
function isStatement(node: ts.Expression): boolean {
  const { parent } = node;
  if (ts.isParenthesizedExpression(parent) || ts.isVoidExpression(parent)) {
    return isStatement(parent);
  }
  if (ts.isExpressionStatement(parent)) return true;
  return ts.isForStatement(parent) && parent.condition !== node;
}

/** The fault of this node on its own, or null. */
function faultOf(node: ts.Node): string | null {
  if (ts.isVariableDeclaration(node) && ts.isArrayBindingPattern(node.name)) {
    const { initializer } = node;
    const literal = initializer !== undefined && ts.isArrayLiteralExpression(bare(initializer));
    return literal ? 'an array literal destructured into names' : null;
  }
  if (isAssignment(node)) {
    const left = bare(node.left);
    const right = bare(node.right);
    if (ts.isArrayLiteralExpression(left) && ts.isArrayLiteralExpression(right)) {
      if (!isSwap(left, right)) return 'several assignments in one that are not a swap';
    }
    return isStatement(node) ? null : 'an assignment inside an expression';
  }
  if (ts.isConditionalExpression(node)) {
    const parts = [node.condition, node.whenTrue, node.whenFalse];
    const nested = parts.some((part) => ts.isConditionalExpression(bare(part)));
    return nested ? 'a ternary inside a ternary' : null;
  }
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
    const { expression, name } = node.expression;
    const flattened = name.text === 'flat' && ts.isArrayLiteralExpression(bare(expression));
    return flattened ? 'an array literal that is flattened' : null;
  }
  if (ts.isVariableDeclarationList(node)) {
    const several = node.declarations.length > 1 && !ts.isForStatement(node.parent);
    return several ? 'several declarations in one' : null;
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === K.CommaToken) {
    return 'two expressions joined by a comma';
  }
  return null;
}

const UNFORMATTED = /biome-ignore(?:-start)? format/g;

/** The faults in a source, each with its location. */
export function shorthandIn(source: Source): readonly string[] {
  const found: string[] = [];
  const quoted: ts.Node[] = [];
  visit(source.tree, (node) => {
    const fault = faultOf(node);
    if (fault !== null) found.push(`${placeOf(source, node)} ${fault}`);
    if (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) quoted.push(node);
  });
  for (const { index } of source.text.matchAll(UNFORMATTED)) {
    // Inside a string it is a sample, for example in the test of this function.
    if (quoted.some((node) => node.pos <= index && index < node.end)) continue;
    const { line } = source.tree.getLineAndCharacterOfPosition(index);
    found.push(`${source.path}:${line + 1} the formatter switched off`);
  }
  return found;
}

/** Finds `any`, `!`, suppressed errors and TODO notes. */
export function loopholesIn(source: Source): readonly string[] {
  const found: string[] = [];
  visit(source.tree, (node) => {
    if (node.kind === K.AnyKeyword) found.push(`${placeOf(source, node)} any`);
    if (ts.isNonNullExpression(node)) found.push(`${placeOf(source, node)} non-null assertion`);
  });
  const words = /@ts-(?:ignore|nocheck|expect-error)|TODO|FIXME|XXX/g;
  for (const word of source.text.match(words) ?? []) found.push(`${source.path} ${word}`);
  return found;
}

const FOLDING = /^(?:normalize|to(?:Locale)?(?:Lower|Upper)Case|localeCompare|random)$/;

/** Finds where code folds case, normalizes text, or takes randomness from a weak source. */
export function foldingIn(source: Source): readonly string[] {
  const found: string[] = [];
  visit(source.tree, (node) => {
    if (!ts.isPropertyAccessExpression(node) || !FOLDING.test(node.name.text)) return;
    found.push(`${source.path}: ${node.expression.getText()}.${node.name.text}`);
  });
  return found;
}
