// Tests what people install. Checks the packed tarball (or the one you name) and installs it into
// an empty project without development dependencies. There it runs the README's quick start as
// printed, and starts a service from nothing with `keyscope init`. It compiles the types, skipping
// none, also with the oldest supported TypeScript. A store and an adapter from outside the package
// have to pass the published contracts.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import pg from 'pg';

const root = resolve(import.meta.dirname, '../..');
const project = mkdtempSync(join(tmpdir(), 'keyscope-package-'));
// Users bring their own Node: without the one in node_modules/.bin, this is the machine's.
const PATH = process.env.PATH.split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .join(delimiter);
const usersEnv = { ...process.env, PATH };
const { KEYSCOPE_TEST_POSTGRES: POSTGRES = 'postgres://postgres@127.0.0.1:5432/test' } =
  process.env;
/** The most bytes and files that the package may have, unpacked. */
const MAX_BYTES = 3_000_000;
const MAX_FILES = 800;
const QUIETLY = ['--no-audit', '--no-fund', '--loglevel=error'];

try {
  const tarball = process.argv[2] === undefined ? pack() : resolve(process.argv[2]);
  checkTarball(tarball);
  install(tarball);
  await runQuickStart();
  runCommand();
  await startFromNothing(tarball, { framework: 'express', database: 'postgres' });
  await startFromNothing(tarball, { framework: 'fastify', database: 'postgres' });
  await startFromNothing(tarball, { framework: 'hono', database: 'sqlite' });
  compileTypes('nodenext', 'nodenext');
  compileTypes('esnext', 'bundler');
  console.log('types compile with skipLibCheck: false, as nodenext and for bundlers');
  compileWithOldest('5.4');
  installBesideZod3(tarball);
  passContract('custom-store', 41);
  passContract('custom-adapter', 21);
  useLaterSchema();
} finally {
  rmSync(project, { recursive: true, force: true });
}

/** Returns the output of a command. */
function run(command, args, options) {
  return execFileSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    ...options,
  });
}

/** Runs a tool of this project, and shows its output. */
function runTool(name, args) {
  run('npx', ['--no-install', name, ...args], { cwd: root, stdio: 'inherit' });
}

function runAsUser(command, args) {
  return run(command, args, { cwd: project, env: usersEnv });
}

// ── The tarball ─────────────────────────────────────────────────────────────────────────────────

function pack() {
  const said = run('npm', ['pack', '--json', '--pack-destination', project], { cwd: root });
  const [{ filename, files, size, unpackedSize }] = JSON.parse(said);
  const sizes = `${inKilobytes(size)} packed, ${inKilobytes(unpackedSize)} unpacked`;
  console.log(`${filename}: ${files.length} files, ${sizes}`);
  return join(project, filename);
}

function inKilobytes(bytes) {
  return `${Math.round(bytes / 1000).toLocaleString('en-US')} kB`;
}

function checkTarball(tarball) {
  const tools = [
    ['publint', 'run', tarball, '--strict'],
    ['attw', tarball, '--profile', 'esm-only', '--format', 'ascii'],
  ];
  // Their output is long even if nothing is wrong.
  for (const tool of tools) run('npx', ['--no-install', ...tool], { cwd: root });
  console.log('publint and attw: no complaints');
}

function install(tarball) {
  writeFileSync(join(project, 'package.json'), '{ "private": true }');
  runAsUser('npm', ['install', ...QUIETLY, tarball]);
  const installed = join(project, 'node_modules/keyscope');
  const own = sizeOf(installed);
  const files = filesIn(installed).length;
  if (own > MAX_BYTES) throw new Error(`the package has ${own} bytes, more than ${MAX_BYTES}`);
  if (files > MAX_FILES) throw new Error(`the package has ${files} files, more than ${MAX_FILES}`);
  const all = inKilobytes(sizeOf(join(project, 'node_modules')));
  const node = runAsUser('node', ['--version']).trim();
  console.log(`installed on Node ${node}: ${inKilobytes(own)}, ${all} with its dependencies`);
}

/** Returns the paths of all files in a folder. */
function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
}

/** Returns the bytes of all files in a folder. */
function sizeOf(folder) {
  return filesIn(folder).reduce((sum, path) => sum + statSync(path).size, 0);
}

// ── The quick start ─────────────────────────────────────────────────────────────────────────────

/** Runs the README's first `js` block as printed, except for the port, which is a free one. */
async function runQuickStart() {
  const code = readFileSync(join(root, 'README.md'), 'utf8').match(/```js\n([\s\S]*?)```/)?.[1];
  if (code === undefined) throw new Error('README.md has no ```js block');
  const lines = code.trim().split('\n').length;
  if (lines > 30) throw new Error(`the quick start has ${lines} lines, more than 30`);
  const port = await findFreePort();
  writeFileSync(join(project, 'server.mjs'), code.replaceAll('3000', String(port)));
  const server = spawn('node', ['server.mjs'], {
    cwd: project,
    env: usersEnv,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const key = await readKey(server);
    const url = `http://127.0.0.1:${port}/invoices`;
    const good = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
    const none = await fetch(url);
    const wrong = await fetch(url, { headers: { authorization: `Bearer ${key}x` } });
    const answers = `${good.status} ${none.status} ${wrong.status}`;
    if (answers !== '200 401 401') {
      throw new Error(`the quick start answered ${answers}, not 200 401 401`);
    }
    const body = await good.text();
    console.log(`quick start: ${lines} lines, answers ${answers} (key, none, wrong): ${body}`);
  } finally {
    server.kill();
  }
}

/** Reads the key that the quick start prints. */
function readKey(server) {
  return new Promise((resolve, reject) => {
    let text = '';
    server.stdout.on('data', (chunk) => {
      text += chunk;
      const key = text.match(/[a-z]+_[0-9A-Za-z]{32}/)?.[0];
      if (key !== undefined) resolve(key);
    });
    server.on('exit', (code) => reject(new Error(`the quick start ended with ${code}`)));
  });
}

function findFreePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

// ── The command ─────────────────────────────────────────────────────────────────────────────────

/** Runs the command with a config in JavaScript, because the user's Node may not strip types. */
function runCommand() {
  const keyscope = (...args) => runAsUser('npx', ['--no-install', 'keyscope', ...args]);
  const help = keyscope('--help');
  if (!help.startsWith('Usage: keyscope <subcommand>')) throw new Error(`no help: ${help}`);
  const config = `
    import { createKeyring, defineScopes } from 'keyscope';
    import { defineConfig } from 'keyscope/cli';
    import { memoryStore } from 'keyscope/stores/memory';
    const catalog = defineScopes({ threats: { read: 'List and read threats.' } });
    // The project's Node may have no SQLite: memory that says it is kept, for one command each.
    const store = { ...memoryStore(), isInProcess: false };
    const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers: 'none' });
    export default defineConfig({ keyring, store, peppers: 'none' });`;
  // Also writes a guard of the package's examples, and a config that the one above replaces.
  keyscope('init', '--yes');
  writeFileSync(join(project, 'keyscope.config.mjs'), config);
  const entity = ['--entity', '0192f0c1-7a44-7cc3-9d5e-2b8f6a1c4e70', '--actor', 'test'];
  const input = ['--name', 'Try it', '--scopes', 'threats:read', '--expires', '90d'];
  const key = keyscope('issue', ...entity, ...input).trim();
  if (!/^acme_\w{32}$/.test(key)) throw new Error('keyscope issue printed no key');
  // The command loads each only when it runs, from a file of the build.
  for (const args of [
    ['list', ...entity],
    ['peppers'],
    ['expiring'],
    ['doctor'],
    ['schema', 'postgres'],
  ]) {
    keyscope(...args);
  }
  const version = keyscope('--version').trim();
  const bin = join(project, 'node_modules/keyscope/dist/keyscope.js');
  const costs = (args) => fastest(() => runAsUser('node', args));
  const more = Math.round(costs([bin, '--help']) - costs(['--eval', '0']));
  console.log(`the command ${version} runs; its help takes ${more} ms more than Node itself`);
}

/**
 * Goes from an empty folder to a guarded route with the commands that `keyscope init` prints. Uses
 * PostgreSQL on the user's own Node without types, and SQLite on this project's Node with types.
 */
async function startFromNothing(tarball, { framework, database }) {
  const folder = join(project, `from-nothing-${framework}`);
  mkdirSync(folder);
  const isTyped = database === 'sqlite';
  const own = join(root, 'node_modules/node/bin');
  const port = String(await findFreePort());
  const env = {
    ...usersEnv,
    PORT: port,
    PATH: isTyped ? `${own}${delimiter}${PATH}` : PATH,
    npm_config_loglevel: 'error',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
  };
  const schema = `keyscope_from_nothing_${process.pid}`;
  if (database === 'postgres' && !(await createSchema(schema))) return;
  const begun = performance.now();
  const type = (line) => {
    const { stdout, stderr, status } = spawnSync('bash', ['-c', line], {
      cwd: folder,
      env,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`${line}: ${status} ${stdout} ${stderr}`);
    return `${stdout}${stderr}`;
  };
  type('npm init -y');
  type(`npm install ${tarball}${isTyped ? ' typescript@6' : ''}`);
  const said = type(`npx keyscope init --yes --framework ${framework} --database ${database}`);
  const lines = said
    .slice(said.indexOf('Then:\n') + 'Then:\n'.length)
    .replaceAll(/^ {2}/gm, '')
    .replace(/^(export DATABASE_URL)=.*/m, `$1='${urlOf(schema)}'`)
    .replace(/^node /m, 'exec node ');
  const shell = spawn('bash', ['-c', `set -e\n${lines}`], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const text = await readUntil(shell, /http:\/\/\S+:\d+/);
    const [key] = text.match(/^[a-z]+_[0-9A-Za-z]{32}$/m) ?? [];
    if (key === undefined) throw new Error(`${framework}: no key was printed`);
    const url = `http://127.0.0.1:${port}/invoices`;
    const good = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
    const none = await fetch(url);
    const answers = `${good.status} ${none.status}`;
    if (answers !== '200 401') throw new Error(`${framework}: answered ${answers}`);
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    const shown = text.replace(key, `${key.slice(0, -32)}…`).replaceAll(/^/gm, '    ');
    const node = type('node --version').trim();
    console.log(`from an empty folder, ${framework}, ${database}, Node ${node}: ${seconds} s`);
    console.log(`${said.replaceAll(/^/gm, '    ')}\n${shown}\n    ${await good.text()}`);
  } finally {
    shell.kill();
    if (database === 'postgres') await query(`drop schema ${schema} cascade`);
  }
}

/** Returns the output of a process as soon as it contains `wanted`. */
function readUntil(child, wanted) {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
      if (wanted.test(text)) resolve(text);
    });
    child.on('exit', (code) => reject(new Error(`it ended with ${code}: ${text}`)));
  });
}

function urlOf(schema) {
  const url = new URL(POSTGRES);
  url.searchParams.set('options', `-c search_path=${schema}`);
  return url.href;
}

async function query(sql) {
  const client = new pg.Client({ connectionString: POSTGRES });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

/** Creates a schema, and returns whether there is a server for it. */
async function createSchema(schema) {
  try {
    await query(`create schema ${schema}`);
    return true;
  } catch (error) {
    if (process.env.CI === 'true') throw error;
    console.log(`skipped: from an empty folder over PostgreSQL: ${error.message}`);
    return false;
  }
}

/** Returns the fastest of some runs in milliseconds; the others shared the machine. */
function fastest(act) {
  const times = Array.from({ length: 7 }, () => {
    const begun = performance.now();
    act();
    return performance.now() - begun;
  });
  return Math.min(...times);
}

// ── Types ───────────────────────────────────────────────────────────────────────────────────────

/** Compiles a user's file, and the declarations of every entry. */
function compileTypes(module, moduleResolution, tsc = 'node_modules/typescript/bin/tsc') {
  const folder = join(project, 'types');
  mkdirSync(folder, { recursive: true });
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const entries = Object.keys(exports).filter((entry) => entry !== './package.json');
  const imports = entries.map((entry) => `import 'keyscope${entry.slice(1)}';\n`);
  writeFileSync(join(folder, 'entries.ts'), imports.join(''));
  cpSync(join(root, 'test/package/users-file.ts'), join(folder, 'users-file.ts'));
  const compilerOptions = {
    module,
    moduleResolution,
    target: 'es2022',
    lib: ['es2022', 'dom'],
    strict: true,
    skipLibCheck: false,
    noEmit: true,
    types: [],
  };
  writeConfig(folder, { compilerOptions, files: ['users-file.ts', 'entries.ts'] });
  run('node', [tsc, '-p', folder], { cwd: root, stdio: 'inherit' });
}

/** Compiles the build's types together with those of drivers and frameworks. */
function compileWithOldest(version) {
  const folder = join(project, 'typescript');
  run('npm', ['install', '--prefix', folder, ...QUIETLY, `typescript@${version}`]);
  const file = 'test/clients.ts';
  const options = [
    '--module nodenext',
    '--target es2022',
    '--types node',
    '--skipLibCheck',
    '--strict',
    '--noEmit',
    '--allowImportingTsExtensions',
  ];
  const args = options.flatMap((option) => option.split(' '));
  const tsc = join(folder, 'node_modules/typescript/bin/tsc');
  run('node', [tsc, ...args, file], { cwd: root, stdio: 'inherit' });
  // In a CommonJS project it cannot import as `nodenext`.
  compileTypes('esnext', 'bundler', tsc);
  console.log(`${file} and every entry compile with TypeScript ${version}`);
}

/**
 * Tests a project whose own zod is version 3: npm installs both, and their types never meet.
 */
function installBesideZod3(tarball) {
  const folder = join(project, 'zod-3');
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  const asUser = { cwd: folder, env: usersEnv };
  run('npm', ['install', ...QUIETLY, 'zod@3', tarball], asUser);
  const versionOf = (path) =>
    JSON.parse(readFileSync(join(folder, 'node_modules', path, 'package.json'), 'utf8')).version;
  const versions = [versionOf('zod'), versionOf('keyscope/node_modules/zod')];
  if (!/^3\..* 4\./.test(versions.join(' '))) throw new Error(`zod is ${versions.join(' and ')}`);
  cpSync(join(root, 'test/package/beside-zod-3.ts'), join(folder, 'beside-zod-3.ts'));
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2022',
    lib: ['es2022', 'dom'],
    strict: true,
    skipLibCheck: false,
    types: [],
  };
  writeConfig(folder, { compilerOptions, files: ['beside-zod-3.ts'] });
  runTool('tsc', ['-p', folder]);
  const said = run('node', ['beside-zod-3.js'], asUser).trim();
  if (said !== 'true false') throw new Error(`next to zod 3: ${said}`);
  console.log(`next to zod ${versions[0]}: installs with its own ${versions[1]}, loads, compiles`);
}

function writeConfig(folder, config) {
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
}

// ── A later schema ──────────────────────────────────────────────────────────────────────────────

function useLaterSchema() {
  cpSync(join(root, 'test/package/later-schema.mjs'), join(project, 'later-schema.mjs'));
  const pglite = join(root, 'node_modules/@electric-sql/pglite');
  console.log(runAsUser('node', ['later-schema.mjs', pglite]).trim());
}

// ── Contracts ───────────────────────────────────────────────────────────────────────────────────

/**
 * Compiles the example of a custom store or adapter against the installed types, and runs the
 * contract on it with `node:test`. Rewrites imports of `.ts`, because Node 20 does not strip types.
 */
function passContract(name, atLeast) {
  const folder = join(project, name);
  cpSync(join(root, 'examples', name), folder, { recursive: true });
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2022',
    strict: true,
    rewriteRelativeImportExtensions: true,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
    skipLibCheck: true,
  };
  writeConfig(folder, { compilerOptions, include: ['*.ts'] });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  runTool('tsc', ['-p', folder]);
  const contract = join(folder, 'contract.js');
  const report = runAsUser('node', ['--test', '--test-reporter=tap', contract]);
  const passed = Number(report.match(/^# pass (\d+)$/m)?.[1]);
  const failed = Number(report.match(/^# fail (\d+)$/m)?.[1]);
  if (!(passed >= atLeast && failed === 0)) {
    throw new Error(`${name}: ${passed} passed, ${failed} failed`);
  }
  console.log(`${name}: ${passed} tests of the installed contract pass`);
}
