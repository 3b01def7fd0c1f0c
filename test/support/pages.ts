/** Extracts code blocks from the documentation, for the tests that run them. */
import { readProjectFile } from './source.ts';

/** The section of a page under a heading, including its subsections. */
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

/** A comment in a code block is not a heading. */
function blank(block: string): string {
  return block.replaceAll('#', ' ');
}

/** The code blocks in one language under a heading, in order. */
export function blocksUnder(page: string, heading: string, language: string): readonly string[] {
  const found = partOf(page, heading).matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm);
  return [...found].filter(([, kind]) => kind === language).map(([, , text = '']) => text);
}
