/** Checks that the README and the pages are short and linked, and print what runs. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, vi } from 'vitest';
import { FIGURES } from '../docs/figures.ts';
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

/**
 * Runs the server of a page from the source, `server.mjs` or `server.ts`, on a free port. Returns
 * its answer on a path to each credential that the caller takes from its first line, as pages print
 * it.
 */
async function answersOf(
  files: Readonly<Record<string, string>>,
  path: string,
  credentials: (line: string) => readonly (string | null)[],
): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'keyscope-docs-'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const port = String(await freePort());
  for (const [name, code] of Object.entries(files)) {
    writeFileSync(join(folder, name), code.replaceAll('3000', port));
  }
  const main = 'server.ts' in files ? 'server.ts' : 'server.mjs';
  const hooks = join(ROOT, 'test/support/typescript.ts');
  const server = spawn(process.execPath, ['--import', hooks, main], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line = ''] = (await once(createInterface(server.stdout), 'line')) as string[];
    const url = `http://127.0.0.1:${port}${path}`;
    const answers: string[] = [];
    for (const credential of credentials(line)) {
      // A server may print its first line before it listens.
      answers.push(await vi.waitFor(() => answerTo(url, credential), 10_000));
    }
    return answers;
  } finally {
    server.kill();
    rmSync(folder, { recursive: true });
  }
}

const PRINTED = ['cache-control', 'content-type', 'www-authenticate'];

async function answerTo(url: string, authorization: string | null): Promise<string> {
  const response = await fetch(url, { headers: authorization === null ? {} : { authorization } });
  const { status, statusText, headers } = response;
  const lines = PRINTED.filter((name) => headers.has(name)).map((name) => {
    return `${name}: ${headers.get(name)}`;
  });
  return [`HTTP/1.1 ${status} ${statusText}`, ...lines, '', await response.text()].join('\n');
}

/** The files of getting started for a framework, by the comment on the first line of each. */
function filesOfGettingStarted(framework: string): Readonly<Record<string, string>> {
  const page = readProjectFile('docs/getting-started.md');
  const named = page.matchAll(/^```ts\n(\/\/ (\S+\.ts)\n[\s\S]*?)^```/gm);
  const files = Array.from(named, ([, code = '', name = '']) => [name, code] as const);
  const chosen = files.filter(([name, code]) => name !== 'server.ts' || code.includes(framework));
  const adapter = readProjectFile(`examples/${framework.toLowerCase()}/adapter.ts`);
  return Object.fromEntries([...chosen, ['adapter.ts', adapter]]);
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
    // Operations lists the runbooks.
    const runbooks = linksIn('docs/operations.md').filter((link) => link.startsWith('runbooks/'));
    const links = [...linksIn('README.md'), ...runbooks.map((link) => `docs/${link}`)];
    const linked = links.map((link) => link.replace(/#.*/, ''));
    expect(PAGES.filter((page) => !linked.includes(page))).toEqual([]);
  });

  it('has a SECURITY.md of at most 8 kB', () => {
    expect(Buffer.byteLength(readProjectFile('SECURITY.md'))).toBeLessThanOrEqual(8_000);
  });

  it('prints the answer of the quick start, and shows it in the picture', async () => {
    const [, code = ''] = /```js\n([\s\S]*?)```/.exec(readProjectFile('README.md')) ?? [];
    const keyIn = (line: string) => [/Authorization: ([^']*)'/.exec(line)?.[1] ?? null];
    const [answer = ''] = await answersOf({ 'server.mjs': code }, '/invoices', keyIn);
    const printed = answer
      .replace('cache-control', 'Cache-Control')
      .replace('content-type', 'Content-Type');
    expect(readProjectFile('README.md')).toContain(`\`\`\`\n${printed}\n\`\`\``);
    const picture = readProjectFile('docs/quick-start.svg');
    for (const line of printed.split('\n')) expect(picture).toContain(`>${line}<`);
  });

  it.each(['Express', 'Fastify', 'Hono'])(
    'prints the answers of getting started with %s',
    async (framework) => {
      const files = filesOfGettingStarted(framework);
      const answers = await answersOf(files, '/projects', (key) => [`Bearer ${key}`, null]);
      const page = readProjectFile('docs/getting-started.md');
      const [admitted = '', refused = ''] = answers;
      expect(page).toContain(`\`\`\`\n${admitted.replace(/^content-type.*\n/m, '')}\n\`\`\``);
      expect(page).toContain(`\`\`\`\n${refused}\n\`\`\``);
    },
  );

  it.each(Object.entries(FIGURES))('has the figure %s as it is drawn', (name, svg) => {
    expect(readProjectFile(`docs/figures/${name}.svg`)).toBe(svg);
  });

  it('prints the tested file for production, which has at most 60 lines', () => {
    const source = readProjectFile('examples/production/server.ts');
    expect(source.trimEnd().split('\n').length).toBeLessThanOrEqual(60);
    const copied = source.replace('../express/adapter.ts', './adapter.ts');
    expect(readProjectFile('docs/production.md')).toContain(`\`\`\`ts\n${copied}\`\`\``);
  });
});
