/** The files of `keyscope init`, in projects of every kind. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { ENTITY, ended, openPlace, PEPPER, type Place } from '../../support/command.ts';
import { freePort } from '../../support/postgres-servers.ts';
import { ROOT } from '../../support/source.ts';
import { NODE_ARGUMENTS } from '../../support/store-process.ts';

let place: Place;
afterEach(() => place?.remove());

const EXPRESS = `{
  "name": "@acme/web-shop",
  "dependencies": { "express": "5", "pg": "8" },
  "devDependencies": { "typescript": "6" }
}`;

/** The files of the database, each with its mode. */
function modesOfDatabase(): readonly string[] {
  const names = readdirSync(place.file('')).filter((name) => name.startsWith('keys.db'));
  const modeOf = (name: string) => (statSync(place.file(name)).mode & 0o777).toString(8);
  return names.sort().map((name) => `${name} ${modeOf(name)}`);
}

describe('keyscope init', () => {
  it('writes files for what package.json has, and says what is missing', async () => {
    place = openPlace(null);
    place.write('package.json', EXPRESS);
    place.write('drizzle.config.ts', '');
    const { stdout, stderr, exit } = await place.run(['init', '--yes', '--json']);
    expect(exit).toBe(0);
    expect(stderr).toContain("Then:\n  drizzle-kit push drops every key: add tablesFilter: ['!key");
    const paths = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { path: string }).path);
    expect(paths.sort()).toEqual([
      'keyscope.config.mts',
      'keyscope/adapter.mts',
      'keyscope/app.mts',
      'keyscope/keyring.mts',
      'keyscope/server.mts',
    ]);
    const keyring = readFileSync(place.file('keyscope/keyring.mts'), 'utf8');
    expect(keyring).toContain('postgresStore');
    expect(keyring).toContain("prefix: 'web',");
    expect(stderr).toContain('npm install keyscope\n');
    expect(stderr).toContain('export DATABASE_URL=');
    expect(stderr).toContain('node keyscope/server.mts');
  });

  // A project with another framework once got Express silently.
  it('says what it chose if package.json has no known framework', async () => {
    place = openPlace(null);
    place.write('package.json', '{ "dependencies": { "@hapi/hapi": "21", "pg": "8" } }');
    const guessed = await place.run(['init', '--yes']);
    expect(guessed.stderr).toContain(
      'package.json has no known framework. Using --framework express.',
    );
    expect(guessed.stderr).not.toContain('known database');
  });

  // Many of these projects have Express, too, and got a server of it next to their own.
  it.each([
    ['koa', 'koa', 'more/koa'],
    ['next', 'next', 'more/fetch'],
    ['elysia', 'elysia', 'more/elysia'],
    ['trpc', '@trpc/server', 'more/trpc'],
  ])('names %s, its adapter and its page, and writes no service', async (name, found, folder) => {
    place = openPlace(null);
    place.write('package.json', JSON.stringify({ dependencies: { express: '5', [found]: '1' } }));
    const { stdout, stderr } = await place.run(['init', '--yes']);
    expect(stdout).toBe('keyscope.config.mjs\nkeyscope/keyring.mjs\n.gitignore\n');
    const adapter = `examples/${folder}/adapter.ts`;
    expect(existsSync(`${ROOT}/${adapter}`)).toBe(true);
    expect(stderr).toContain(`\n  cp node_modules/keyscope/${adapter} keyscope/\n`);
    const page = readFileSync(`${ROOT}/docs/frameworks.md`, 'utf8');
    expect(page.toLowerCase()).toContain(`\n## ${name}\n`);
    expect(stderr).toContain(`guard each route of ${name} with it: see docs/frameworks.md#${name}`);
    expect(stderr).not.toContain('no known framework');
  });

  // Its bundler did not find `keyring.mts`.
  it('writes files for Next that its routes can import', async () => {
    place = openPlace(null);
    const packages = { dependencies: { next: '16' }, devDependencies: { typescript: '6' } };
    place.write('package.json', JSON.stringify(packages));
    const { stdout } = await place.run(['init', '--yes']);
    expect(stdout).toBe('keyscope.config.ts\nkeyscope/keyring.ts\n.gitignore\n');
    expect(await place.run(['migrate'], '', { PEPPER })).toMatchObject({ exit: 0 });
  });

  it('says that Nest needs a compiler that lets CommonJS import the package', async () => {
    place = openPlace(null);
    place.write('package.json', '{ "dependencies": { "@nestjs/core": "10" } }');
    place.write('tsconfig.json', '{ "compilerOptions": { "module": "commonjs" } }');
    const { stderr } = await place.run(['init', '--yes']);
    expect(stderr).toContain('set "module": "nodenext" in tsconfig.json, with TypeScript 5.8 or');
  });

  it('writes no guard with --framework none', async () => {
    place = openPlace(null);
    place.write('package.json', '{ "type": "module" }');
    const { stdout, stderr } = await place.run(['init', '--yes', '--framework', 'none']);
    expect(stdout).toBe('keyscope.config.mjs\nkeyscope/keyring.mjs\n.gitignore\n');
    expect(stderr).toContain('guard your routes with an adapter of your own');
    expect(stderr).not.toContain('express');
    expect(await place.run(['migrate'], '', { PEPPER })).toMatchObject({ exit: 0 });
  });

  it('writes nothing if a file exists', async () => {
    place = openPlace(null);
    place.write('package.json', EXPRESS);
    mkdirSync(place.file('keyscope'));
    place.write('keyscope/adapter.mts', 'mine');
    const { exit, stderr } = await place.run(['init', '--yes']);
    expect(exit).toBe(1);
    expect(stderr).toContain('keyscope/adapter.mts already exists');
    expect(readFileSync(place.file('keyscope/adapter.mts'), 'utf8')).toBe('mine');
    expect(existsSync(place.file('keyscope.config.mts'))).toBe(false);
  });

  it.each([
    ['no package.json', [], 1, 'npm init'],
    ['{', [], 1, 'npm init'],
    ['{}', ['--framework', 'expres'], 2, 'Did you mean express?'],
    ['{}', ['--database', 'oracle'], 2, 'one of sqlite, postgres, mysql, redis'],
  ])('rejects %s %j', async (text, args, exit, instead) => {
    place = openPlace(null);
    if (text.startsWith('{')) place.write('package.json', text);
    const ran = await place.run(['init', '--yes', ...args]);
    expect(ran.exit).toBe(exit);
    expect(ran.stderr).toContain(instead);
  });

  // In a package of type "commonjs", as `npm init` writes it, a `.ts` file cannot import.
  it.each(['commonjs', 'module'])('writes a config that loads in a package of %s', async (type) => {
    place = openPlace(null);
    place.write('package.json', JSON.stringify({ type, devDependencies: { typescript: '6' } }));
    await place.run(['init', '--yes']);
    const env = { PEPPER };
    expect(await place.run(['migrate'], '', env)).toMatchObject({ exit: 0 });
    const { stdout, exit } = await place.run(['doctor', '--json'], '', env);
    const states = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly check: string; readonly state: string });
    expect(states.filter(({ state }) => state !== 'ok')).toEqual([]);
    expect(exit).toBe(0);
  });

  // The only file with the routes listened, so that the command could not load it.
  it.each(['express', 'fastify', 'hono'])(
    'writes a service on %s that can be locked',
    async (framework) => {
      place = openPlace(null);
      symlinkSync(`${ROOT}/node_modules`, place.file('node_modules'));
      place.write('package.json', '{ "devDependencies": { "typescript": "6" } }');
      await place.run(['init', '--yes', '--framework', framework]);
      const env = { PEPPER };
      expect(await place.run(['lock', '--write'], '', env)).toMatchObject({ exit: 0 });
      const lock = readFileSync(place.file('keyscope.lock.json'), 'utf8');
      expect(lock).toContain('"GET /me": {"operations":["whoami"]');
      expect(lock).toContain(
        '"GET /invoices": {"operations":["listInvoices"],"scopes":["invoices:read"]',
      );
      const unguarded = await place.run(['lock', '--check'], '', env);
      expect(unguarded).toMatchObject({ exit: 0, stderr: '' });
    },
  );

  it.each([
    [
      'sqlite',
      {},
      'PEPPER is not set, or shorter than 32 bytes. If there are keys, use theirs. If not: node -p',
    ],
    ['sqlite', { PEPPER: 'hunter2' }, 'PEPPER is not set, or shorter than 32 bytes.'],
    ['postgres', { PEPPER }, 'DATABASE_URL is not set. Set it to the address of your database: po'],
    ['mysql', { PEPPER }, 'DATABASE_URL is not set.'],
    ['redis', { PEPPER }, 'REDIS_URL is not set.'],
  ])('writes a config for %s that names the variable if it is run with %j', async (...given) => {
    const [database, env, said] = given;
    place = openPlace(null);
    symlinkSync(`${ROOT}/node_modules`, place.file('node_modules'));
    place.write('package.json', '{ "devDependencies": { "typescript": "6" } }');
    await place.run(['init', '--yes', '--framework', 'none', '--database', database]);
    const unset = { PEPPER: '', DATABASE_URL: '', REDIS_URL: '' };
    const { exit, stderr } = await place.run(['doctor'], '', { ...unset, ...env });
    expect(stderr).toContain(`it threw: ${said}`);
    expect(stderr).not.toContain('hunter2');
    expect(exit).toBe(3);
  });

  it('chooses what cannot be added later, and limits the life of keys', async () => {
    place = openPlace(null);
    place.write('package.json', EXPRESS);
    await place.run(['init', '--yes']);
    const keyring = readFileSync(place.file('keyscope/keyring.mts'), 'utf8');
    expect(keyring).toContain("deployment: 'web production',");
    expect(keyring).toContain('maxLifetimeMs = 366 * 86_400_000;');
    expect(keyring).toContain('onEvent: (event) => ');
    expect(keyring).toContain('query_timeout: 5_000,');
  });

  it('says why it writes JavaScript on a Node without TypeScript, unless you insist', async () => {
    place = openPlace(null);
    place.write('package.json', '{ "type": "module", "devDependencies": { "typescript": "6" } }');
    place.write(
      'node20.mjs',
      'Object.defineProperty(process.features, "typescript", { value: undefined });',
    );
    const env = { NODE_OPTIONS: '--import ./node20.mjs' };
    const none = ['init', '--yes', '--framework', 'none'];
    const plain = await place.run(none, '', env);
    expect(plain.stdout).toBe('keyscope.config.mjs\nkeyscope/keyring.mjs\n.gitignore\n');
    expect(plain.stderr).toContain('cannot run TypeScript. Use Node 22.18 or later, or pass --typ');
    const typed = await place.run([...none, '--typescript'], '', env);
    expect(typed.stdout).toBe('keyscope.config.ts\nkeyscope/keyring.ts\n');
    expect(typed.stderr).not.toContain('cannot run TypeScript');
    expect(typed.stderr).toContain('npm install --save-dev tsx @types/node');
    expect(typed.stderr).toContain('export NODE_OPTIONS="--import tsx"');
  });

  it('writes TypeScript with --typescript in a project without it', async () => {
    place = openPlace(null);
    place.write('package.json', '{}');
    const args = ['init', '--yes', '--framework', 'none', '--typescript'];
    const { stdout, stderr } = await place.run(args);
    expect(stdout).toBe('keyscope.config.mts\nkeyscope/keyring.mts\n.gitignore\n');
    expect(stderr).toContain('npm install --save-dev typescript @types/node');
    expect(stderr).not.toContain('tsx');
  });

  // Everyone on the machine could read the digests, and git picked the file up.
  it('writes a config whose database only you can read, and git does not see', async () => {
    place = openPlace(null);
    place.write('package.json', '{ "type": "module" }');
    place.write('.gitignore', 'dist\nnode_modules');
    const none = ['init', '--yes', '--framework', 'none'];
    const { stdout } = await place.run(none);
    expect(stdout).toBe('keyscope.config.mjs\nkeyscope/keyring.mjs\n.gitignore\n');
    rmSync(place.file('keyscope.config.mjs'));
    rmSync(place.file('keyscope'), { recursive: true });
    expect((await place.run(none)).stdout).not.toContain('.gitignore');
    expect(readFileSync(place.file('.gitignore'), 'utf8')).toBe('dist\nnode_modules\nkeys.db*\n');
    expect(await place.run(['migrate'], '', { PEPPER })).toMatchObject({ exit: 0 });
    expect(modesOfDatabase()).toEqual(['keys.db 600']);
  });

  it('changes no .gitignore for a database on a server', async () => {
    place = openPlace(null);
    place.write('package.json', EXPRESS);
    await place.run(['init', '--yes']);
    expect(existsSync(place.file('.gitignore'))).toBe(false);
  });

  // It printed 127.0.0.1 and listened on every interface.
  it.each(['express', 'fastify', 'hono'])(
    'writes a service on %s that listens on this machine only',
    async (framework) => {
      place = openPlace(null);
      symlinkSync(`${ROOT}/node_modules`, place.file('node_modules'));
      place.write('package.json', '{ "devDependencies": { "typescript": "6" } }');
      await place.run(['init', '--yes', '--framework', framework]);
      const port = await freePort();
      const env = { ...process.env, PEPPER, PORT: String(port) };
      const options = { cwd: place.file(''), env };
      const child = spawn(process.execPath, [...NODE_ARGUMENTS, 'keyscope/server.mts'], options);
      const [address] = (await once(child.stdout, 'data')) as [Buffer];
      expect(String(address).trim()).toBe(`http://127.0.0.1:${port}`);
      expect((await fetch(`http://127.0.0.1:${port}/me`)).status).toBe(401);
      await expect(fetch(`http://127.0.0.2:${port}/me`)).rejects.toThrow();
      expect(modesOfDatabase()).toEqual(['keys.db 600', 'keys.db-shm 600', 'keys.db-wal 600']);
      child.kill('SIGTERM');
      await once(child, 'close');
    },
  );

  // Keys that a service had just admitted were listed as never used.
  it('writes a service that notes the last uses of keys before it ends', async () => {
    place = openPlace(null);
    symlinkSync(`${ROOT}/node_modules`, place.file('node_modules'));
    place.write('package.json', '{ "devDependencies": { "typescript": "6" } }');
    await place.run(['init', '--yes', '--framework', 'fastify']);
    const env = { ...process.env, PEPPER, PORT: '0' };
    await place.run(['migrate'], '', env);
    const to = ['--entity', ENTITY];
    const what = ['--name', 'CI', '--scopes', 'invoices:read', '--expires', '1d', '--json'];
    const { stdout } = await place.run(['issue', ...to, ...what], '', env);
    const { key } = JSON.parse(stdout) as { readonly key: string };
    const options = { cwd: place.file(''), env };
    const child = spawn(process.execPath, [...NODE_ARGUMENTS, 'keyscope/server.mts'], options);
    const ran = ended(child);
    const [address] = (await once(child.stdout, 'data')) as [Buffer];
    const headers = { Authorization: `Bearer ${key}` };
    const answer = await fetch(`${String(address).trim()}/invoices`, { headers });
    expect(answer.status).toBe(200);
    child.kill('SIGTERM');
    expect(await ran).toMatchObject({ exit: 0, stderr: '' });
    const listed = await place.run(['list', ...to, '--json'], '', env);
    expect(listed.stdout).toMatch(/"lastUsedAt":"20/);
  });
});
