/** The README and the pages: short, linked, and what they print is what runs. */
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filesUnder, ROOT, readProjectFile } from './support/source.ts';

/** All but the site's first page, and those that are documents from elsewhere. */
const PAGES = filesUnder('docs', '.md').filter((path) => {
  return path !== 'docs/index.md' && !readProjectFile(path).startsWith('<!--@include');
});
const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'bench/README.md',
  'examples/platform/README.md',
  ...PAGES,
];

/** As GitHub makes it of a heading. */
function anchorOf(heading: string): string {
  const plain = heading.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, '');
  return plain.trim().replaceAll(' ', '-');
}

function anchorsIn(path: string): readonly string[] {
  const text = readProjectFile(path).replaceAll(/^```[\s\S]*?^```/gm, '');
  return Array.from(text.matchAll(/^#{1,6} (.+)$/gm), ([, heading = '']) => anchorOf(heading));
}

function linksIn(path: string): readonly string[] {
  const text = readProjectFile(path).replaceAll(/^```[\s\S]*?^```/gm, '');
  const inline = text.matchAll(/\]\(([^)\s]+)\)/g);
  const images = text.matchAll(/(?:src|srcset)="([^"]+)"/g);
  const links = [...inline, ...images].map(([, link = '']) => link);
  return links.filter((link) => !/^(?:https?|mailto):/.test(link));
}

function faultOf(page: string, link: string): string | undefined {
  const [file = '', anchor] = link.split('#');
  const target = file === '' ? page : normalize(join(dirname(page), file));
  if (!existsSync(join(ROOT, target))) return `${page}: ${link} is not there`;
  const isMissing = anchor !== undefined && !anchorsIn(target).includes(anchor);
  return isMissing ? `${page}: ${link} has no such heading` : undefined;
}

describe('the documentation', () => {
  it('links only to what is there', () => {
    const faults = DOCUMENTS.flatMap((page) =>
      linksIn(page).flatMap((link) => faultOf(page, link) ?? []),
    );
    expect(faults).toEqual([]);
    expect(DOCUMENTS.flatMap(linksIn).length).toBeGreaterThan(50);
  });

  it('defines every reference that a link names, and no other', () => {
    for (const page of DOCUMENTS) {
      const text = readProjectFile(page).replaceAll(/^```[\s\S]*?^```/gm, '');
      const named = Array.from(text.matchAll(/\]\[([\w-]+)\]/g), ([, name]) => name);
      const defined = Array.from(
        text.matchAll(/^\[([\w-]+)\]: https:\/\/\S+$/gm),
        ([, name]) => name,
      );
      expect(defined.sort(), page).toEqual([...new Set(named)].sort());
    }
    expect(readProjectFile('docs/comparison.md')).toMatch(/^\[ta\]: /m);
  });

  it('has a README of at most 250 lines, which leads to every page', () => {
    const readme = readProjectFile('README.md');
    expect(readme.split('\n').length).toBeLessThanOrEqual(250);
    const linked = linksIn('README.md').map((link) => link.replace(/#.*/, ''));
    expect(PAGES.filter((page) => !linked.includes(page))).toEqual([]);
  });

  it('prints the file for production as it is tested, in at most 60 lines', () => {
    const source = readProjectFile('examples/production/server.ts');
    expect(source.trimEnd().split('\n').length).toBeLessThanOrEqual(60);
    const copied = source.replace('../express/adapter.ts', './adapter.ts');
    expect(readProjectFile('README.md')).toContain(`\`\`\`ts\n${copied}\`\`\``);
  });
});
