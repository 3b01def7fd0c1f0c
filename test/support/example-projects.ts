/**
 * Copies the examples to the place where their packages are installed, like users copy them into a
 * project, and the built package next to them. Tests and compiler use the files in `.project`.
 */
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The examples to copy into each folder of `test`. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  frameworks: ['keys.ts', 'fetch', 'koa', 'elysia', 'nest', 'next', 'trpc', 'bun', 'deno'],
  'frameworks/nest-11/.project': ['keys.ts', 'nest'],
  orms: ['drizzle', 'kysely', 'mikro-orm', 'typeorm'],
};

function copy(from: string, to: string): void {
  cpSync(join(root, from), join(root, to), { recursive: true });
}

function copyPackage(folder: string): void {
  if (!existsSync(join(root, 'dist'))) throw new Error('run `npm run build` first');
  const copied = `${folder}/node_modules/keyscope`;
  rmSync(join(root, copied), { recursive: true, force: true });
  mkdirSync(join(root, copied));
  // `keyscope init` copies the adapter.
  const parts = ['package.json', 'dist', 'examples/more/nest/adapter.ts'];
  for (const part of parts) copy(part, `${copied}/${part}`);
}

/** Vitest calls it before the tests of these folders. */
export function setup(): void {
  for (const [name, parts] of Object.entries(EXAMPLES)) {
    const folder = `test/${name}`;
    rmSync(join(root, folder, '.project'), { recursive: true, force: true });
    for (const part of parts) copy(`examples/more/${part}`, `${folder}/.project/${part}`);
    if (existsSync(join(root, folder, 'node_modules'))) copyPackage(folder);
  }
  // The same app as on the newest version, next to another version's packages.
  for (const file of ['nest.ts', 'nest-session.ts', 'nest-global.ts', 'served.ts']) {
    copy(`test/frameworks/${file}`, `test/frameworks/nest-11/.project/${file}`);
  }
  for (const part of ['existing', 'express', 'more/nest']) {
    copy(`examples/${part}`, `test/frameworks/.project/${part}`);
  }
  copy('test/frameworks/next-routes', 'test/frameworks/.project/next/app');
}

if (import.meta.main) setup();
