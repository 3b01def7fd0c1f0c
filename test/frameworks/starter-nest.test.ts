/** The files that `keyscope init` writes for Nest, in a project as `nest new` makes it. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { starterFiles } from '../../src/tools/cli/starter.js';
import { DATABASES } from '../../src/tools/cli/starter-parts.js';
import { ENTITY, ended, openPlace, PEPPER, type Ran, shell } from '../support/command.ts';
import { describeInstalled } from './installed.ts';
import { untilPrinted } from './printed.ts';

const TSC = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));
const COMMAND = fileURLToPath(new URL('node_modules/keyscope/dist/keyscope.js', import.meta.url));
const PROJECTS = fileURLToPath(new URL('.project', import.meta.url));

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

/** Makes a project, in whose files the steps that `init` prints are done. */
function openProject(type: string | undefined, platform: 'express' | 'fastify') {
  const path = mkdtempSync(join(PROJECTS, 'started-'));
  closers.push(() => rmSync(path, { recursive: true, force: true }));
  const place = openPlace(null);
  closers.push(place.remove);
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
  const init = (): Promise<Ran> => shell(place.line(['init', '--yes']), path);
  // The built command, because its tests' loader of TypeScript has no `require`.
  function run(args: readonly string[]): Promise<Ran> {
    const env = { ...process.env, PEPPER };
    return ended(spawn(process.execPath, [COMMAND, ...args], { cwd: path, env }));
  }
  const compile = (): Promise<Ran> => shell(`'${process.execPath}' '${TSC}'`, path);
  function start(): ChildProcessWithoutNullStreams {
    const env = { ...process.env, PEPPER };
    return spawn(process.execPath, ['dist/main.js'], { cwd: path, env });
  }
  return { write, init, run, compile, start };
}

describeInstalled('keyscope init in a project with Nest', () => {
  test.each([
    [undefined, 'express'],
    ['module', 'fastify'],
  ] as const)(
    'writes a module that compiles and guards its routes, for type %s on %s',
    async (type, platform) => {
      const { write, init, run, compile, start } = openProject(type, platform);
      const { stdout, stderr } = await init();
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

      expect(await run(['migrate'])).toMatchObject({ exit: 0, stderr: '' });
      const to = ['--entity', ENTITY];
      const what = ['--name', 'Try', '--scopes', 'invoices:read', '--expires', '1d', '--json'];
      const issued = await run(['issue', ...to, ...what]);
      const { key } = JSON.parse(issued.stdout) as { readonly key: string };
      const child = start();
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
      const listed = await run(['list', ...to, '--json']);
      expect(listed.stdout).toMatch(/"lastUsedAt":"20/);
    },
  );
});
