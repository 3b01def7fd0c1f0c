/**
 * `llms.txt`, which lists the pages in the order of the sidebar with a sentence on each, and
 * `llms-full.txt`, which has all of their text.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DefaultTheme } from 'vitepress';

type Item = DefaultTheme.SidebarItem;

/** The pages of a group, also of the groups in it. */
function pagesIn({ link = '', items = [] }: Item): readonly string[] {
  const own = /^\/api\/|^$/.test(link) ? [] : [`${link.slice(1)}.md`];
  return [...own, ...items.flatMap(pagesIn)];
}

/** The first sentence below the heading. */
function sentenceOf(text: string): string {
  const [, below = ''] = /^# .+$([\s\S]*)/m.exec(text) ?? [];
  const paragraph = below
    .split(/\n\n+/)
    .find((part) => /^[\w*`[]/.test(part) && !/^```/.test(part));
  const plain = (paragraph ?? '').replaceAll('\n', ' ').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  return /^.*?[.?](?= |$)/.exec(plain)?.[0] ?? plain.replace(/:$/, '.');
}

/** Writes both files. Throws if the sidebar leaves out a page. */
export function writeLists(
  outDir: string,
  sidebar: readonly Item[],
  built: readonly string[],
  read: (page: string) => string,
): void {
  const listed = sidebar.flatMap(pagesIn);
  const missing = built.filter((page) => page !== 'index.md' && !listed.includes(page));
  if (missing.length > 0) throw new Error(`not in the sidebar: ${missing.join(', ')}`);

  const lines = sidebar.flatMap((group) => ['', `## ${group.text}`, '', ...linesOf(group, read)]);
  writeFileSync(join(outDir, 'llms.txt'), `# keyscope\n${lines.join('\n')}\n`);
  writeFileSync(join(outDir, 'llms-full.txt'), listed.map(read).join('\n'));
}

function linesOf({ items = [] }: Item, read: (page: string) => string): readonly string[] {
  return items.flatMap((item) => {
    const nested = linesOf(item, read);
    if (item.link === undefined) return nested;
    const [page] = pagesIn(item);
    const about = page === undefined ? '' : `: ${sentenceOf(read(page))}`;
    return [`- [${item.text}](${item.link})${about}`, ...nested];
  });
}
