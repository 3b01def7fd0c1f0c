/**
 * Measures what a reader has to read, over the syntax tree: runtime tokens and decision points, and
 * the lengths of files, functions and lines.
 */
import ts from 'typescript';
import { placeOf, type Source, visit } from './source.ts';

const K = ts.SyntaxKind;

const DECISIONS: ReadonlySet<ts.SyntaxKind> = new Set([
  K.IfStatement,
  K.ConditionalExpression,
  K.ForStatement,
  K.ForOfStatement,
  K.ForInStatement,
  K.WhileStatement,
  K.DoStatement,
  K.CatchClause,
  K.CaseClause,
]);

const SHORT_CIRCUITS: ReadonlySet<ts.SyntaxKind> = new Set([
  K.AmpersandAmpersandToken,
  K.BarBarToken,
  K.QuestionQuestionToken,
]);

function isDecision(node: ts.Node): boolean {
  if (DECISIONS.has(node.kind)) return true;
  return ts.isBinaryExpression(node) && SHORT_CIRCUITS.has(node.operatorToken.kind);
}

/** Like `visit`, including tokens. */
function visitTokens(node: ts.Node, tree: ts.SourceFile, see: (node: ts.Node) => void): void {
  see(node);
  for (const child of node.getChildren(tree)) visitTokens(child, tree, see);
}

export interface Runtime {
  readonly tokens: number;
  readonly decisions: number;
}

const runtimes = new WeakMap<Source, Runtime>();

/** Counts what remains of a source without types, comments, imports and re-exports. */
export function runtimeOf(source: Source): Runtime {
  const known = runtimes.get(source) ?? countRuntime(source);
  runtimes.set(source, known);
  return known;
}

function countRuntime({ text }: Source): Runtime {
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      removeComments: true,
      verbatimModuleSyntax: true,
    },
  });
  const tree = ts.createSourceFile('erased.js', outputText, ts.ScriptTarget.Latest, true);
  let tokens = 0;
  let decisions = 0;
  for (const statement of tree.statements) {
    if (ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement)) continue;
    visitTokens(statement, tree, (node) => {
      const isToken = node.getChildCount(tree) === 0 && node.getWidth(tree) > 0;
      if (isToken) tokens += 1;
      if (isDecision(node)) decisions += 1;
    });
  }
  return { tokens, decisions };
}

export function runtimeOfAll(sources: readonly Source[]): Runtime {
  let tokens = 0;
  let decisions = 0;
  for (const source of sources) {
    const runtime = runtimeOf(source);
    tokens += runtime.tokens;
    decisions += runtime.decisions;
  }
  return { tokens, decisions };
}

/** A length in lines or columns, and its place. */
export interface Length {
  readonly place: string;
  readonly length: number;
}

/** A text that ends with a line break counts one line more than in `wc`. */
export function fileLengthOf({ path, text }: Source): Length {
  return { place: path, length: text.split('\n').length };
}

/** Comments count, because a reader should see a whole function at once. */
export function functionLengthsOf(source: Source): readonly Length[] {
  const found: Length[] = [];
  const lineOf = (position: number): number =>
    source.tree.getLineAndCharacterOfPosition(position).line;
  visit(source.tree, (node) => {
    if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return;
    const length = lineOf(node.getEnd()) - lineOf(node.getStart(source.tree)) + 1;
    found.push({ place: placeOf(source, node), length });
  });
  return found;
}

/** Measures code and comments alike. */
export function lineLengthsOf({ path, text }: Source): readonly Length[] {
  return text
    .split('\n')
    .map((line, index) => ({ place: `${path}:${index + 1}`, length: line.length }));
}

/** Lists, for people, the lengths beyond the bound. */
export function longerThan(bound: number, lengths: readonly Length[]): readonly string[] {
  return lengths
    .filter(({ length }) => length > bound)
    .map(({ place, length }) => `${place}: ${length}`);
}

export function longestOf(lengths: readonly Length[]): Length {
  let longest: Length = { place: 'nothing', length: 0 };
  for (const each of lengths) if (each.length > longest.length) longest = each;
  return longest;
}

export interface LineCount {
  readonly code: number;
  readonly comment: number;
}

/** Counts lines that are not empty. A line with code and a comment counts as code. */
export function lineCountOf({ text }: Source): LineCount {
  const filled = text.split('\n').filter((line) => line.trim() !== '');
  const comment = filled.filter((line) => /^\s*(?:\/\/|\/?\*)/.test(line)).length;
  return { code: filled.length - comment, comment };
}
