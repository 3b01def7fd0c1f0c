/** The files that `keyscope init` writes for Nest, in a project as `nest new` makes it. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { starterFiles } from '../../src/tools/cli/starter.js';
import { DATABASES } from '../../src/tools/cli/starter-parts.js';
import { describeInstalled } from './installed.ts';
import { untilPrinted } from './printed.ts';

const TSC = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));
const COMMAND = fileURLToPath(new URL('node_modules/keyscope/dist/keyscope.js', import.meta.url));
const PROJECTS = fileURLToPath(new URL('.project', import.meta.url));
const ENTITY = '0a0a0a0a-0000-4000-8000-00000000000a';
const PEPPER = 'a pepper of at least thirty-two bytes';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** The options of the templates of Nest 12, without what only its own tools read. */
const COMPILER = {
  module: 'nodenext',
  moduleResolution: 'nodenext',
  isolatedModules: true,
  declaration: true,
  emitDecoratorMetadata: true,
  experimentalDecorators: true,
  target: 'ES2023',
  types: ['node'],
  outDir: './dist',
  rootDir: './src',
  skipLibCheck: true,
  strict: true,
  strictPropertyInitialization: false,
};

const PACKAGES = {
  dependencies: { '@nestjs/core': '12', '@nestjs/platform-express': '12', express: '5' },
  devDependencies: { typescript: '6' },
};

/** Returns the output and the exit of a process. */
async function ended(child: ChildProcessWithoutNullStreams) {
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text) => {
      texts[name] += text;
    });
  }
  const [exit] = (await once(child, 'close')) as [number | null];
  return { ...texts, exit };
}

/** Makes a project, in whose files the steps that `init` prints are done. */
function openProject(type: string | undefined, platform: 'express' | 'fastify') {
  const path = mkdtempSync(join(PROJECTS, 'started-'));
  closers.push(() => rmSync(path, { recursive: true, force: true }));
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
  };
  const end = type === 'module' ? '.js' : '';
  const adapter = platform === 'express' ? 'ExpressAdapter' : 'FastifyAdapter';
  write('package.json', JSON.stringify({ name: 'shop', type, ...PACKAGES }));
  write('tsconfig.json', JSON.stringify({ compilerOptions: COMPILER, include: ['src'] }, null, 2));
  write(
    'src/main.ts',
    `import 'reflect-metadata';
    import { Module } from '@nestjs/common';
    import { NestFactory } from '@nestjs/core';
    import { ${adapter} } from '@nestjs/platform-${platform}';
    import { KeyscopeModule } from './keyscope/keyscope.module${end}';
    @Module({ imports: [KeyscopeModule] })
    class AppModule {}
    async function bootstrap() {
      const app = await NestFactory.create(AppModule, new ${adapter}(), { logger: false });
      app.enableShutdownHooks();
      await app.listen(0, '127.0.0.1');
      console.log('Listening on ' + (await app.getUrl()) + ' ');
    }
    void bootstrap();`,
  );
  function start(...args: readonly string[]): ChildProcessWithoutNullStreams {
    return spawn(process.execPath, args, { cwd: path, env: { ...process.env, PEPPER } });
  }
  const run = (...args: readonly string[]) => ended(start(COMMAND, ...args));
  const compile = () => ended(start(TSC));
  return { write, run, compile, start };
}

describeInstalled('keyscope init in a project with Nest', () => {
  test.each([
    [undefined, 'express'],
    ['module', 'fastify'],
  ] as const)(
    'writes a module that compiles and guards its routes, for type %s on %s',
    async (type, platform) => {
      const { write, run, compile, start } = openProject(type, platform);
      const { stdout, stderr } = await run('init', '--yes');
      expect(stdout.trim().split('\n')).toEqual([
        'keyscope.config.mjs',
        'src/keyscope/keyring.ts',
        'src/keyscope/keyscope.module.ts',
        'src/keyscope/adapter.ts',
        '.gitignore',
      ]);
      expect(stderr).toContain('\n  npm run build\n');
      expect(stderr).not.toMatch(/express|nodenext|server/);
      for (const database of Object.keys(DATABASES)) {
        const ending = type === 'module' ? '.js' : '';
        const files = starterFiles({ framework: 'nest', database, prefix: 'acme', ending });
        write(`src/others/${database}.ts`, files.get('src/keyscope/keyring.ts') ?? '');
      }
      expect(await compile()).toEqual({ stdout: '', stderr: '', exit: 0 });

      expect(await run('migrate')).toMatchObject({ exit: 0, stderr: '' });
      const to = ['--entity', ENTITY];
      const what = ['--name', 'Try', '--scopes', 'invoices:read', '--expires', '1d', '--json'];
      const issued = await run('issue', ...to, ...what);
      const { key } = JSON.parse(issued.stdout) as { readonly key: string };
      const child = start('dist/main.js');
      const ran = ended(child);
      const [url = ''] = await untilPrinted(child, [/Listening on (\S+) /]);
      const ask = async (path: string, sent?: string) => {
        const headers = sent === undefined ? {} : { Authorization: `Bearer ${sent}` };
        const answer = await fetch(`${url}/${path}`, { headers });
        return [answer.status, (await answer.json()) as unknown] as const;
      };
      expect(await ask('me')).toMatchObject([401, { title: 'Unauthorized' }]);
      expect(await ask('me', key)).toMatchObject([200, { scopes: ['invoices:read'] }]);
      expect(await ask('invoices', key)).toEqual([200, { of: ENTITY }]);
      expect(await ask('projects', key)).toMatchObject([403, { title: 'Forbidden' }]);
      child.kill('SIGTERM');
      expect(await ran).toMatchObject({ stderr: '' });
      const listed = await run('list', ...to, '--json');
      expect(listed.stdout).toMatch(/"lastUsedAt":"20/);
    },
  );
});
