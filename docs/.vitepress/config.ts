/**
 * The site: the pages of this folder, the documents at the top of the repository, the files that
 * they link to, and the reference that TypeDoc writes. `npm run docs` builds it.
 */
import {
  copyFileSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DefaultTheme, defineConfig, type MarkdownOptions, type UserConfig } from 'vitepress';
import { writeLists } from './llms.ts';

const { KEYSCOPE_DOCS_BASE: base = '/' } = process.env;
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Returns what a page shows, as a path in the repository: itself, or a document from elsewhere. */
function documentOf(page: string): string {
  const [, from] = /^<!--@include: (.+)-->$/m.exec(read(page)) ?? [];
  return from === undefined ? page : join('docs', from);
}

const PAGE_OF = new Map(
  globSync('docs/*.md', { cwd: ROOT }).map((page) => [documentOf(page), page]),
);

/** Links to pages by their headings. A document from elsewhere may have a `title:` above it. */
function pages(...names: readonly string[]): DefaultTheme.SidebarItem[] {
  return names.map((name) => {
    const page = `docs/${name}.md`;
    const title = /^(?:title:|#) (.+)$/m;
    const [, text = name] = title.exec(read(page)) ?? title.exec(read(documentOf(page))) ?? [];
    return { text: text.replaceAll('`', ''), link: `/${name}` };
  });
}

const runbooks = globSync('runbooks/*.md', { cwd: join(ROOT, 'docs') })
  .map((path) => path.replace(/\.md$/, ''))
  .sort();

const sidebar: DefaultTheme.SidebarItem[] = [
  {
    text: 'Start',
    items: [
      ...pages('existing-service', 'getting-started', 'production'),
      ...pages('managing-keys', 'frameworks', 'overview'),
    ],
  },
  {
    text: 'How-to',
    items: [
      { text: 'Runbooks', collapsed: true, items: pages(...runbooks) },
      ...pages('recipes', 'organizations', 'adapters', 'lock', 'leaks', 'keyless', 'tokens', 'mcp'),
      ...pages('openapi', 'testing', 'orms', 'operations', 'observing', 'migrating'),
    ],
  },
  {
    text: 'Reference',
    items: [
      { text: 'API by name', link: '/api/index.html', target: '_self' },
      ...pages('concepts', 'command', 'admin', 'stores', 'key-format', 'versioning'),
    ],
  },
  {
    text: 'Evidence',
    items: [
      ...pages('promises', 'reliability', 'performance', 'results', 'auditing', 'security'),
      ...pages('comparison', 'contributing'),
    ],
  },
];

/** Files that pages link to but that are not pages. The site shows their text under `/source`. */
const linked = new Set<string>();

/** The file of the repository that a link of a document leads to; null if it leads elsewhere. */
function targetOf(document: string, link: string): string | null {
  if (/^(?:https?:|mailto:|#)/.test(link)) return null;
  return relative(ROOT, resolve(ROOT, dirname(document), link.replace(/#.*/, '')));
}

/** A link of a document, as it is written for the repository, on the site. */
function onSite(document: string, link: string): string {
  const target = targetOf(document, link);
  if (target === null) return link;
  const anchor = /#.*/.exec(link)?.[0] ?? '';
  const page = PAGE_OF.get(target) ?? target;
  if (page.startsWith('docs/')) return `/${page.slice('docs/'.length)}${anchor}`;
  linked.add(target);
  const isFolder = statSync(join(ROOT, target)).isDirectory();
  return `/source/${target}${isFolder ? '/index' : ''}.txt`;
}

/** Images are part of the build, which looks for them from where the page is. */
function fromPage(page: string, document: string, link: string): string {
  const target = targetOf(document, link);
  return target === null ? link : `./${relative(dirname(page), target)}`;
}

/** Blocks between `<!-- tabs -->` and `<!-- /tabs -->`, each below its name in bold. */
function toCodeGroups(text: string): string {
  return text.replaceAll(/<!-- tabs -->([\s\S]*?)<!-- \/tabs -->/g, (_, blocks: string) => {
    return `::: code-group\n${blocks.replaceAll(/\*\*(.+)\*\*\s+```(\w+)/g, '```$2 [$1]')}\n:::`;
  });
}

const markdown: MarkdownOptions = {
  config(md) {
    md.core.ruler.before('block', 'tabs', (state) => {
      state.src = toCodeGroups(state.src);
    });
    md.core.ruler.push('links', ({ tokens, env }) => {
      const { path } = env as { readonly path?: string };
      if (path === undefined) return; // A title.
      const page = relative(ROOT, path);
      const document = documentOf(page);
      for (const token of tokens.flatMap((each) => each.children ?? [])) {
        const href = token.type === 'link_open' ? token.attrGet('href') : null;
        if (href !== null) token.attrSet('href', onSite(document, href));
        const src = token.type === 'image' ? token.attrGet('src') : null;
        if (src !== null) token.attrSet('src', fromPage(page, document, src));
      }
    });
  },
};

/** Copies what pages link to into the site, as text that a browser shows. */
function copyLinked(outDir: string): void {
  for (const target of linked) {
    const from = join(ROOT, target);
    const isFolder = statSync(from).isDirectory();
    const to = join(outDir, 'source', isFolder ? `${target}/index.txt` : `${target}.txt`);
    mkdirSync(dirname(to), { recursive: true });
    if (isFolder) writeFileSync(to, `${readdirSync(from).sort().join('\n')}\n`);
    else copyFileSync(from, to);
  }
}

const config: UserConfig = {
  title: 'keyscope',
  description: 'API keys and access scopes for TypeScript services.',
  base,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${base}favicon.svg` }]],
  cleanUrls: true,
  lastUpdated: false,
  // Files, and pages that TypeDoc writes later.
  ignoreDeadLinks: [/^\/source\//, /^\/api\//],
  markdown,
  themeConfig: {
    logo: '/favicon.svg',
    search: { provider: 'local' },
    nav: [
      { text: 'Getting started', link: '/getting-started' },
      { text: 'API by name', link: '/api/index.html', target: '_self' },
    ],
    sidebar,
    outline: [2, 3],
  },
  buildEnd({ outDir, pages: built }) {
    copyLinked(outDir);
    writeLists(outDir, sidebar, built, (page) => read(documentOf(`docs/${page}`)));
  },
};

export default defineConfig(config);
