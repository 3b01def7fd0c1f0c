/** Loads the installed frameworks, and says how each serves the contract's routes. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe } from 'vitest';
import type { Serve } from './served.ts';

const { CI } = process.env;
const FOLDER = new URL('./', import.meta.url);
const isInstalled = ['', 'nest-11/'].every((folder) => {
  return existsSync(new URL(`${folder}node_modules/.package-lock.json`, FOLDER));
});

/** `describe`, skipped by name if nothing is installed; with `CI=true` it fails. */
export const describeInstalled: typeof describe.skip =
  isInstalled || CI === 'true' ? describe : describe.skip;

// ── In this process ─────────────────────────────────────────────────────────────────────────────

type CreateGuard = (options: object) => (operation: unknown, options?: unknown) => unknown;

/** A framework's guard and its app. */
export interface Framework {
  readonly createGuard: CreateGuard;
  readonly serve: Serve;
}

function frameworkOf(module: { readonly createGuard: unknown; readonly serve: Serve }): Framework {
  return { createGuard: module.createGuard as CreateGuard, serve: module.serve };
}

async function nestOn(platform: 'express' | 'fastify'): Promise<Framework> {
  const { createGuard, serveOn } = await import('./nest.ts');
  return frameworkOf({ createGuard, serve: serveOn(platform) });
}

/** A copy of `nest.ts`, next to the packages of Nest 11. */
async function nest11On(platform: 'express' | 'fastify'): Promise<Framework> {
  const copy = './nest-11/.project/nest.ts';
  const module = (await import(/* @vite-ignore */ copy)) as typeof import('./nest.ts');
  return frameworkOf({ createGuard: module.createGuard, serve: module.serveOn(platform) });
}

/** Only a test loads one, because none of them has to be installed. */
export const FRAMEWORKS = {
  'Express 4': async () => frameworkOf(await import('./express-4.ts')),
  fetch: async () => frameworkOf(await import('./fetch.ts')),
  Koa: async () => frameworkOf(await import('./koa.ts')),
  Elysia: async () => frameworkOf(await import('./elysia.ts')),
  'Nest on Express': () => nestOn('express'),
  'Nest on Fastify': () => nestOn('fastify'),
  'Nest 11 on Express': () => nest11On('express'),
  'Nest 11 on Fastify': () => nest11On('fastify'),
  tRPC: async () => frameworkOf(await import('./trpc.ts')),
} satisfies Readonly<Record<string, () => Promise<Framework>>>;

// ── In a separate process ───────────────────────────────────────────────────────────────────────

/** Options of commands: where they run, without output and without telemetry. */
export const RUNNING = {
  cwd: fileURLToPath(FOLDER),
  env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1', NO_COLOR: '1' },
} as const;

export const binary = (name: string): string =>
  fileURLToPath(new URL(`node_modules/.bin/${name}`, FOLDER));

export const DENO_RUN = ['run', '--allow-all', '--no-lock', '--node-modules-dir=manual'] as const;
/** Runs `next build` on the example and the routes of these tests. */
export async function buildNext(): Promise<void> {
  await promisify(execFile)(binary('next'), ['build', '.project/next'], RUNNING);
}
