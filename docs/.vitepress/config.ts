/**
 * The site: the pages of this folder, the documents at the top of the repository, the files that
 * they link to, and the reference that TypeDoc writes. `npm run docs` builds it.
 */
import { copyFileSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type MarkdownOptions, type UserConfig } from 'vitepress';

const { KEYSCOPE_DOCS_BASE } = process.env;
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Pages that are documents of the repository, from elsewhere. */
const INCLUDED: Readonly<Record<string, string>> = {
  'docs/overview.md': 'README.md',
  'docs/security.md': 'SECURITY.md',
  'docs/contributing.md': 'CONTRIBUTING.md',
  'docs/benchmark.md': 'bench/README.md',
  'docs/results.md': 'bench/results/README.md',
};

const SIDEBAR = [
  {
    text: 'Use it',
    pages: [
      'overview',
      'getting-started',
      'frameworks',
      'concepts',
      'managing-keys',
      'command',
      'admin',
      'mcp',
      'openapi',
      'tokens',
      'key-format',
      'leaks',
      'lock',
      'recipes',
      'testing',
      'migrating',
    ],
  },
  {
    text: 'Run it',
    pages: ['production', 'stores', 'orms', 'operations', 'observing', 'reliability'],
  },
  {
    text: 'Check it',
    pages: [
      'comparison',
      'auditing',
      'security',
      'promises',
      'versioning',
      'performance',
      'benchmark',
      'results',
    ],
  },
];

/** `managing-keys` → `Managing keys`. */
function titleOf(page: string): string {
  const words = page.replaceAll('-', ' ');
  if (page === 'orms') return 'ORMs';
  if (page === 'command') return 'The command';
  if (page === 'admin') return 'Endpoints to manage keys';
  if (page === 'openapi') return 'OpenAPI';
  if (page === 'production') return 'In production';
  if (page === 'lock') return 'The access lock';
  if (page === 'leaks') return 'Leaked keys';
  if (page === 'key-format') return 'Key format and scanning';
  if (page === 'versioning') return 'Versions and support';
  return page === 'mcp' ? 'MCP' : words.charAt(0).toUpperCase() + words.slice(1);
}

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
  const [page = target] = Object.entries(INCLUDED).find(([, from]) => from === target) ?? [];
  if (page.startsWith('docs/')) return `/${page.slice('docs/'.length)}${anchor}`;
  linked.add(target);
  const isFolder = statSync(join(ROOT, target)).isDirectory();
  return `/source/${target}${isFolder ? '/index' : ''}.txt`;
}

/** Images are part of the build, which looks for them from where the page is. */
function fromHere(document: string, link: string): string {
  const target = targetOf(document, link);
  return target === null ? link : relative(join(ROOT, 'docs'), join(ROOT, target));
}

const markdown: MarkdownOptions = {
  config(md) {
    md.core.ruler.push('links', ({ tokens, env }) => {
      const { path } = env as { readonly path: string };
      const page = relative(ROOT, path);
      const document = INCLUDED[page] ?? page;
      for (const token of tokens.flatMap((each) => each.children ?? [])) {
        const href = token.type === 'link_open' ? token.attrGet('href') : null;
        if (href !== null) token.attrSet('href', onSite(document, href));
        const src = token.type === 'image' ? token.attrGet('src') : null;
        if (src !== null) token.attrSet('src', fromHere(document, src));
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
  base: KEYSCOPE_DOCS_BASE ?? '/',
  cleanUrls: true,
  lastUpdated: false,
  // Files, and pages that TypeDoc writes later.
  ignoreDeadLinks: [/^\/source\//, /^\/api\//],
  markdown,
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'Getting started', link: '/getting-started' },
      { text: 'Reference', link: '/api/index.html', target: '_self' },
    ],
    sidebar: SIDEBAR.map(({ text, pages }) => ({
      text,
      items: pages.map((page) => ({ text: titleOf(page), link: `/${page}` })),
    })),
    outline: [2, 3],
  },
  buildEnd: ({ outDir }) => copyLinked(outDir),
};

export default defineConfig(config);
