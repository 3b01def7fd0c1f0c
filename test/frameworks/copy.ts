/**
 * Copies the examples to where their frameworks are installed, as users copy them into a project of
 * their own, and the built package beside them: the tests run, and the compiler reads, what stands
 * in `.project`.
 */
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const PARTS = ['keys.ts', 'fetch', 'koa', 'elysia', 'nest', 'next', 'trpc', 'bun', 'deno'];

function copy(from: string, to: string): void {
  cpSync(here(from), here(to), { recursive: true });
}

function copyPackage(): void {
  if (!existsSync(here('../../dist'))) throw new Error('run `npm run build` first');
  rmSync(here('node_modules/keyscope'), { recursive: true, force: true });
  mkdirSync(here('node_modules/keyscope'));
  for (const part of ['package.json', 'dist'])
    copy(`../../${part}`, `node_modules/keyscope/${part}`);
}

export function setup(): void {
  rmSync(here('.project'), { recursive: true, force: true });
  for (const part of PARTS) copy(`../../examples/${part}`, `.project/${part}`);
  copy('next-routes', '.project/next/app');
  if (existsSync(here('node_modules'))) copyPackage();
}

if (import.meta.main) setup();
