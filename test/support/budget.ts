/**
 * Measures of reading effort, counted over the syntax tree: runtime tokens, decision points, and
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

/** Like `visit`, but visits tokens too. */
function visitTokens(node: ts.Node, tree: ts.SourceFile, see: (node: ts.Node) => void): void {
  see(node);
  for (const child of node.getChildren(tree)) visitTokens(child, tree, see);
}

export interface Runtime {
  readonly tokens: number;
  readonly decisions: number;
}

/** Counts what remains of a source once types, comments, imports and re-exports are erased. */
export function runtimeOf({ text }: Source): Runtime {
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

/** Something with a length in lines or columns, and its location. */
export interface Length {
  readonly place: string;
  readonly length: number;
}

/** A text that ends with a line break has one line more than `wc` reports. */
export function fileLengthOf({ path, text }: Source): Length {
  return { place: path, length: text.split('\n').length };
}

/** Includes comments: you should be able to see a whole function at once. */
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

/** Counts code and comments alike. */
export function lineLengthsOf({ path, text }: Source): readonly Length[] {
  return text
    .split('\n')
    .map((line, index) => ({ place: `${path}:${index + 1}`, length: line.length }));
}

/** The ones over the limit, formatted for a person. */
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

/** Counts non-empty lines. A line with code and a comment counts as code. */
export function lineCountOf({ text }: Source): LineCount {
  const filled = text.split('\n').filter((line) => line.trim() !== '');
  const comment = filled.filter((line) => /^\s*(?:\/\/|\/?\*)/.test(line)).length;
  return { code: filled.length - comment, comment };
}
