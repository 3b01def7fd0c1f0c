/**
 * The prose of the project: Markdown without code, comments, and texts of several words. And turns
 * of phrase that mark prose as translated.
 */
import ts from 'typescript';
import { type Source, visit } from './source.ts';

/**
 * Chosen by counting: each was frequent in 1.4 MB of this project's prose. In 0.8 MB of jose,
 * kysely, hono and typage, all of them together occur 8 times: 0.1 in 10 kB.
 */
export const MARKS: Readonly<Record<string, RegExp>> = {
  'whoever: write "anyone who"': /\bwhom?ever\b/gi,
  'beside: write "next to" or "with"': /\bbeside\b/gi,
  'but for: write "except"': /\bbut for\b(?! \d)/gi,
  'is told: say who reports or logs it': /\b(?:is|are|was|were|be|been|being)(?: \w+)? told\b/gi,
  'hears of: write "learns of" or "receives"': /\bhear(?:s|d)? of\b/gi,
  'goes out: write "ends" or "stops"': /\b(?:goes|went) out\b/gi,
  'stands: things are somewhere': /\bst(?:ands?|ood)\b(?! for\b| up\b| out\b| alone\b)/gi,
  'is no X: negate the verb':
    /(?<!\bthere )\b(?:is|are|was|were|be) no\b(?! longer\b| more\b| less\b| fewer\b| such\b)/gi,
  'is none: negate the verb': /(?<!\bthere )\b(?:is|are|was|were|be) none\b/gi,
  'What … as a subject: name the thing': /(?:^|[.:] )What (?!if\b)[^.?]*(?:\.|$)/gm,
  'has not the: negate the verb': /\b(?:has|have|had) not (?:the|a|an|any)\b/gi,
  'such as it is: say which':
    /\bsuch as (?:it|they) (?:is|are)\b|\bas it stands\b|\bfor want of\b/gi,
  'nothing but: write "only"': /\b(?:nothing|anything|nobody|none|no one|all) but\b/gi,
  'somebody: say who, or "another process"': /\bsomebody\b/gi,
};

/** Without code blocks, code in a line, and addresses. */
export function proseOfMarkdown(text: string): string {
  return text
    .replace(/```.*?```/gs, '')
    .replace(/`[^`]*`/g, 'X')
    .replace(/\]\([^)]*\)/g, ']');
}

/** The comments of a source, and its texts of three words or more. */
export function proseOfSource({ tree }: Source): string {
  const full = tree.getFullText();
  const prose: string[] = [];
  let comments = full;
  visit(tree, (node) => {
    const isText = ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node);
    if (!isText && !ts.isRegularExpressionLiteral(node)) return;
    const start = node.getStart();
    const end = node.getEnd();
    // A text may contain what looks like a comment.
    comments = comments.slice(0, start) + ' '.repeat(end - start) + comments.slice(end);
    if (isText && node.text.split(' ').length > 2) prose.push(node.text);
  });
  for (const [comment] of comments.matchAll(/\/\*.*?\*\/|\/\/[^\n]*/gs)) {
    const lines = comment
      .split('\n')
      .map((line) => line.replace(/^\s*(?:\/\*+|\*\/?|\/\/)\s?/, ''));
    prose.push(lines.join('\n').replace(/`[^`]*`/g, 'X'));
  }
  return prose.join('\n');
}

/** Each mark in a prose, with some words around it. */
export function marksIn(prose: string): readonly string[] {
  return Object.entries(MARKS).flatMap(([advice, mark]) =>
    Array.from(prose.matchAll(mark), ({ index }) => {
      const around = prose.slice(Math.max(0, index - 20), index + 60).replace(/\s+/g, ' ');
      return `${advice}: "…${around}…"`;
    }),
  );
}
