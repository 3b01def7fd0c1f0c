/** The console in a user's project: copied into CommonJS, compiled with `tsc`, and run. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BuiltPackage, buildPackage } from '../support/built-package.ts';
import { folder } from '../support/folder.ts';
import { ROOT } from '../support/source.ts';

const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

/** The strictest options that a project may have. */
const OPTIONS = {
  module: 'nodenext',
  target: 'es2023',
  types: ['node'],
  rootDir: '.',
  outDir: 'out',
  rewriteRelativeImportExtensions: true,
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  noImplicitOverride: true,
  noImplicitReturns: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  isolatedModules: true,
  skipLibCheck: true,
};

/** The user's own server, which asks itself for a few pages. */
const SERVER = `
import { createKeyring, definePolicy, defineScopes } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { createConsole } from './app.ts';
import { csrfTokenOf } from './sessions.ts';

const catalog = defineScopes({ invoices: { read: 'Read invoices.' } });
const policy = definePolicy(catalog, { listInvoices: ['invoices:read'] });
const keyring = createKeyring({ prefix: 'acme', policy, store: memoryStore(), peppers: 'none' });
const entityId = '11111111-1111-4111-8111-111111111111';
const member = {
  user: { email: 'ana@example.com', role: 'admin' },
  entityId,
  authority: { entityId, scopes: ['*:*'] },
  session: 'a session of the user',
};
const publicUrl = 'http://127.0.0.1:3000';
const app = createConsole({
  keyring,
  signIn: { whoIs: () => member, serve() {} },
  nameOf: () => null,
  publicUrl,
  now: Date.now,
  report: console.error,
});

async function ask(path: string, fields?: Record<string, string>): Promise<void> {
  const body = fields && new URLSearchParams({ csrf: csrfTokenOf(member), ...fields });
  const init = body && { method: 'POST', body, headers: { Origin: publicUrl } };
  const response = await app.request(\`\${publicUrl}/console\${path}\`, init);
  const text = await response.text();
  console.log(response.status, response.headers.get('Content-Type'), text.length > 500);
}

async function main(): Promise<void> {
  const keys = '/settings/configuration/api-keys';
  for (const path of ['/style', '/script', keys, \`\${keys}/new\`]) await ask(path);
  await ask(keys, { name: 'Export', scopes: 'invoices:read', lifetime: '30' });
}
void main();
`;

describe('the console in a CommonJS project', () => {
  const project = folder();
  let built: BuiltPackage;

  beforeAll(() => {
    built = buildPackage();
    const dist = join(built.path, 'dist');
    execFileSync(process.execPath, [TSC, '-p', 'tsconfig.build.json', '--outDir', dist], {
      cwd: ROOT,
    });
    cpSync(join(ROOT, 'examples/console'), project.file('console'), { recursive: true });
    writeFileSync(project.file('console/server.ts'), SERVER);
    const config = { compilerOptions: OPTIONS, include: ['console'] };
    writeFileSync(project.file('tsconfig.json'), JSON.stringify(config));
    writeFileSync(project.file('package.json'), '{ "private": true }');
    for (const name of ['hono', '@types/node']) link(join(ROOT, 'node_modules', name), name);
    link(built.path, 'keyscope');
    // Builds the package and its types.
  }, 300_000);
  afterAll(() => {
    built.remove();
    project.remove();
  });

  function link(target: string, name: string): void {
    const place = project.file(`node_modules/${name}`);
    mkdirSync(dirname(place), { recursive: true });
    symlinkSync(target, place, 'junction');
  }

  it('compiles, and serves its pages, style and script without any other file', () => {
    const compiled = spawnSync(process.execPath, [TSC, '-p', project.file('')], {
      encoding: 'utf8',
    });
    expect(compiled.stdout).toBe('');
    rmSync(project.file('console'), { recursive: true });
    const out = execFileSync(process.execPath, [project.file('out/console/server.js')], {
      encoding: 'utf8',
    });
    const html = 'text/html; charset=UTF-8 true';
    expect(out.trim().split('\n')).toEqual([
      '200 text/css; charset=utf-8 true',
      '200 text/javascript; charset=utf-8 true',
      `200 ${html}`,
      `200 ${html}`,
      `201 ${html}`,
    ]);
  });
});
