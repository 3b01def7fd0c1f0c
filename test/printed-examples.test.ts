/** The examples on the pages of docs/ are copies of the tested code in examples/. */
import { describe, expect, it } from 'vitest';
import { adapterContract } from '../src/testing/index.js';
import { EXCEPTIONS, NAMES, NOTES } from './frameworks/exceptions.ts';
import { readProjectFile } from './support/source.ts';

/** The code blocks of a page, each with the example that the line above links to. */
function blocksOf(page: string): readonly { readonly path: string; readonly code: string }[] {
  const found = page.matchAll(
    /(?:\(\.\.\/(examples\/[^)]+)\):\n\n)?^```(?:ts|js)\n([\s\S]*?)^```$/gm,
  );
  return [...found].map(([, path = '', code = '']) => ({ path, code }));
}

const frameworks = readProjectFile('docs/frameworks.md');

describe.each(['docs/frameworks.md', 'docs/orms.md'])('%s', (path) => {
  it('shows only code from examples/, unchanged', () => {
    const blocks = blocksOf(readProjectFile(path));
    expect(blocks.length).toBeGreaterThan(3);
    for (const { path: example, code } of blocks) {
      expect(example, `a block without its file:\n${code}`).not.toBe('');
      expect(code, example).toBe(readProjectFile(example));
    }
  });
});

describe('docs/existing-service.md', () => {
  const page = readProjectFile('docs/existing-service.md');

  it('shows only code of the service that runs', () => {
    const blocks = blocksOf(page);
    const shown = new Set(blocks.map(({ path }) => path.replace('examples/existing/', '')));
    expect([...shown]).toEqual([
      ...['access.ts', 'app.ts', 'app.module.ts', 'settings.ts', 'mcp.ts'],
      ...['expiry.test.ts', 'keyscope.config.ts'],
    ]);
    for (const { path, code } of blocks) {
      expect(`\n${readProjectFile(path)}`, path).toContain(`\n${code}`);
    }
  });

  it('shows a line of the lock of that service', () => {
    const [, line = ''] = /^```json\n(.*)\n```$/m.exec(page) ?? [];
    expect(readProjectFile('examples/existing/keyscope.lock.json')).toContain(`\n    ${line}\n`);
  });

  it('has at most 1,500 words, code included', () => {
    expect(page.split(/\s+/).length).toBeLessThanOrEqual(1_500);
  });
});

describe('docs/frameworks.md', () => {
  it("shows each framework's server", () => {
    const shown = blocksOf(frameworks).map(({ path }) => path);
    const servers = ['bun', 'deno', 'elysia', 'koa', 'nest', 'trpc'];
    expect(shown).toEqual(
      expect.arrayContaining(servers.map((name) => `examples/more/${name}/server.ts`)),
    );
  });

  it('names the frameworks that run the contract, and the exceptions', () => {
    const tests: string[] = [];
    adapterContract(
      (name) => tests.push(name),
      () => ({ url: '' }),
    );
    const text = frameworks.replaceAll(/\n {0,3}(?=\w)/g, ' ');
    const [named = ''] = /on the real framework: .*?\./.exec(text) ?? [];
    for (const name of NAMES) expect(named).toContain(name);
    const excepted = Object.values(EXCEPTIONS).flatMap((of) => Object.keys(of));
    expect(excepted.filter((name) => !tests.includes(name))).toEqual([]);
    for (const [at, note] of NOTES.entries()) expect(text).toContain(` ${at + 1}. ${note}`);
  });
});
