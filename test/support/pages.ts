/** Code blocks of the documentation, for the tests that run them. */
import { readProjectFile } from './source.ts';

/** Returns the part of a page under a heading, including smaller headings. */
function partOf(page: string, heading: string): string {
  const text = readProjectFile(page);
  const level = /^#+ /.exec(heading)?.[0].length ?? 0;
  const begin = text.indexOf(`\n${heading}\n`);
  if (level === 0 || begin < 0) throw new Error(`${page} has no heading ${heading}`);
  const rest = text.slice(begin + 1 + heading.length);
  const next = new RegExp(`^#{1,${level - 1}} `, 'm').exec(
    rest.replaceAll(/^```[^`]*^```/gm, blank),
  );
  return rest.slice(0, next?.index);
}

/** Blanks `#` in a block of code, where it is a comment and not a heading. */
function blank(block: string): string {
  return block.replaceAll('#', ' ');
}

/** The blocks of a language under a heading of a page, in their order. */
export function blocksUnder(page: string, heading: string, language: string): readonly string[] {
  const found = partOf(page, heading).matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm);
  return [...found].filter(([, kind]) => kind === language).map(([, , text = '']) => text);
}
