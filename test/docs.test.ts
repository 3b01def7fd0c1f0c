/** Checks that the README and the pages are short and linked, and print what runs. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { freePort } from './support/postgres-servers.ts';
import { filesUnder, ROOT, readProjectFile } from './support/source.ts';

/** All pages except the site's first one and those that include a document from elsewhere. */
const PAGES = filesUnder('docs', '.md').filter((path) => {
  return path !== 'docs/index.md' && !readProjectFile(path).includes('<!--@include');
});
const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'examples/platform/README.md',
  ...PAGES,
];

/** Returns the anchor that GitHub gives a heading. */
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

/** Runs the README's quick start from the source. Returns its answer as the README prints it. */
async function answerOfQuickStart(): Promise<string> {
  const [, code = ''] = /```js\n([\s\S]*?)```/.exec(readProjectFile('README.md')) ?? [];
  const folder = mkdtempSync(join(tmpdir(), 'keyscope-quick-start-'));
  writeFileSync(join(folder, 'server.mjs'), code.replaceAll('3000', String(await freePort())));
  const hooks = join(ROOT, 'test/support/typescript.ts');
  const server = spawn(process.execPath, ['--import', hooks, 'server.mjs'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [command = ''] = (await once(createInterface(server.stdout), 'line')) as string[];
    const [, authorization = '', url = ''] = /'Authorization: (.*)' (.*)$/.exec(command) ?? [];
    const { status, statusText, headers, body } = await fetchText(url, authorization);
    const names = ['Cache-Control', 'Content-Type'];
    const lines = names.map((name) => `${name}: ${headers.get(name)}`);
    return [`HTTP/1.1 ${status} ${statusText}`, ...lines, '', body].join('\n');
  } finally {
    server.kill();
    rmSync(folder, { recursive: true });
  }
}

async function fetchText(url: string, authorization: string) {
  const response = await fetch(url, { headers: { authorization } });
  const { status, statusText, headers } = response;
  return { status, statusText, headers, body: await response.text() };
}

describe('the documentation', () => {
  it('links only to files and headings that exist', () => {
    const faults = DOCUMENTS.flatMap((page) =>
      linksIn(page).flatMap((link) => faultOf(page, link) ?? []),
    );
    expect(faults).toEqual([]);
    expect(DOCUMENTS.flatMap(linksIn).length).toBeGreaterThan(50);
  });

  it('defines exactly the references that its links name', () => {
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

  it('has a README of at most 200 lines that links to every page', () => {
    const readme = readProjectFile('README.md');
    expect(readme.split('\n').length).toBeLessThanOrEqual(200);
    const linked = linksIn('README.md').map((link) => link.replace(/#.*/, ''));
    expect(PAGES.filter((page) => !linked.includes(page))).toEqual([]);
  });

  it('has a SECURITY.md of at most 8 kB', () => {
    expect(Buffer.byteLength(readProjectFile('SECURITY.md'))).toBeLessThanOrEqual(8_000);
  });

  it('prints the answer of the quick start, and shows it in the picture', async () => {
    const answer = await answerOfQuickStart();
    expect(readProjectFile('README.md')).toContain(`\`\`\`\n${answer}\n\`\`\``);
    const picture = readProjectFile('docs/quick-start.svg');
    for (const line of answer.split('\n')) expect(picture).toContain(`>${line}<`);
  });

  it('prints the tested file for production, which has at most 60 lines', () => {
    const source = readProjectFile('examples/production/server.ts');
    expect(source.trimEnd().split('\n').length).toBeLessThanOrEqual(60);
    const copied = source.replace('../express/adapter.ts', './adapter.ts');
    expect(readProjectFile('docs/production.md')).toContain(`\`\`\`ts\n${copied}\`\`\``);
  });
});
