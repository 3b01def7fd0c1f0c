// What an installer gets: the packed tarball, or the one that is named, is checked, installed into
// an empty project without development dependencies, the README's quick start is run there as
// printed, the types are compiled there, skipping none, and by the oldest TypeScript that is
// supported, and a store and an adapter from outside the package pass the published contracts.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const project = mkdtempSync(join(tmpdir(), 'keyscope-package-'));
// Users bring their own Node: without the one of node_modules/.bin this is the machine's.
const PATH = process.env.PATH.split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .join(delimiter);
const run = (command, args, options) =>
  execFileSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    ...options,
  });

try {
  const tarball = process.argv[2] ? resolve(process.argv[2]) : pack();
  run('npx', ['--no-install', 'publint', 'run', tarball, '--strict'], { cwd: root });
  run('npx', ['--no-install', 'attw', tarball, '--profile', 'esm-only', '--format', 'ascii'], {
    cwd: root,
  });
  console.log('publint and attw: nothing to say');

  writeFileSync(join(project, 'package.json'), '{ "private": true }');
  run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', tarball], {
    cwd: project,
    env: { ...process.env, PATH },
  });
  const node = (args) => run('node', args, { cwd: project, env: { ...process.env, PATH } });
  console.log(`installed on Node ${node(['--version']).trim()}`);

  await quickStart();
  types();
  oldestTypeScript('5.4');
  passesContract('custom-store', 41);
  passesContract('custom-adapter', 21);
} finally {
  rmSync(project, { recursive: true, force: true });
}

function pack() {
  const said = run('npm', ['pack', '--json', '--pack-destination', project], { cwd: root });
  const [{ filename, files, size }] = JSON.parse(said);
  console.log(`${filename}: ${files.length} files, ${size} bytes`);
  return join(project, filename);
}

/** The README's first `js` block, as printed but for the port, which is a free one. */
async function quickStart() {
  const code = readFileSync(join(root, 'README.md'), 'utf8').match(/```js\n([\s\S]*?)```/)?.[1];
  if (!code) throw new Error('README.md has no ```js block');
  const lines = code.trim().split('\n').length;
  if (lines > 30) throw new Error(`the quick start has ${lines} lines; 30 at the most`);
  const port = await freePort();
  writeFileSync(join(project, 'server.mjs'), code.replaceAll('3000', String(port)));
  const server = spawn('node', ['server.mjs'], {
    cwd: project,
    env: { ...process.env, PATH },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const key = await new Promise((found, failed) => {
      let text = '';
      server.stdout.on('data', (chunk) => {
        text += chunk;
        const key = text.match(/[a-z]+_[0-9A-Za-z]{32}/)?.[0];
        if (key) found(key);
      });
      server.on('exit', (code) => failed(new Error(`the quick start ended with ${code}`)));
    });
    const get = (headers) => fetch(`http://127.0.0.1:${port}/threats`, { headers });
    const [good, none, bad] = [
      await get({ authorization: `Bearer ${key}` }),
      await get({}),
      await get({ authorization: `Bearer ${key}x` }),
    ];
    const answers = [good.status, none.status, bad.status].join(' ');
    if (answers !== '200 401 401')
      throw new Error(`the quick start answered ${answers}, not 200 401 401`);
    console.log(
      `quick start: ${lines} lines, answers ${answers} (key, none, wrong): ${await good.text()}`,
    );
  } finally {
    server.kill();
  }
}

function types() {
  const source = `
import { createKeyring, defineScopes, definePolicy, toMe, type Principal, type Me } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { meSchema } from 'keyscope/schemas';
import { adapterContract, storeContract } from 'keyscope/testing';
import { createMcpGate } from 'keyscope/mcp';
const catalog = defineScopes({ threats: { read: 'Read threats.' }, users: { delete: 'Delete users.' } }, { reserved: ['users:*'] });
const policy = definePolicy(catalog, { listThreats: ['threats:read'] });
const keyring = createKeyring({ prefix: 'acme', catalog, store: memoryStore(), peppers: 'none' });
export const use = async (principal: Principal): Promise<Me> => {
  await keyring.issue({ name: 'a', scopes: ['threats:*'], expiresAt: 'never' }, { entityUuid: principal.entityUuid });
  // @ts-expect-error a scope that the catalog does not have
  await keyring.issue({ name: 'a', scopes: ['threats:raed'], expiresAt: 'never' }, { entityUuid: principal.entityUuid });
  policy.authorize(principal, 'listThreats');
  return meSchema.parse(toMe(principal));
};
const tools = [{ name: 'listThreats' }];
export const gate = createMcpGate({ keyring, policy, tools, realm: 'acme', resource: 'https://api.example.com/mcp' });
export { adapterContract, sqliteStore, storeContract };
`;
  mkdirSync(join(project, 'types'));
  writeFileSync(join(project, 'types/use.ts'), source);
  for (const [module, resolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ]) {
    const options = {
      module,
      moduleResolution: resolution,
      target: 'es2022',
      lib: ['es2022', 'dom'],
    };
    const compilerOptions = {
      ...options,
      strict: true,
      skipLibCheck: false,
      noEmit: true,
      types: [],
    };
    writeFileSync(
      join(project, 'types/tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['use.ts'] }),
    );
    run('npx', ['--no-install', 'tsc', '-p', join(project, 'types')], {
      cwd: root,
      stdio: 'inherit',
    });
  }
  console.log('types compile with skipLibCheck: false, as nodenext and for bundlers');
}

/** The drivers' and frameworks' own types beside those of the build. */
function oldestTypeScript(version) {
  const folder = join(project, 'typescript');
  run('npm', [
    'install',
    '--prefix',
    folder,
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    `typescript@${version}`,
  ]);
  const options = [
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--types',
    'node',
    '--skipLibCheck',
    '--strict',
  ];
  const [tsc, file] = [join(folder, 'node_modules/typescript/bin/tsc'), 'test/clients.ts'];
  run('node', [tsc, ...options, '--noEmit', '--allowImportingTsExtensions', file], {
    cwd: root,
    stdio: 'inherit',
  });
  console.log(`${file} compiles with TypeScript ${version}`);
}

/**
 * The example of a store or an adapter of one's own, compiled against the installed types and run
 * by `node:test` on the contract. Not as it stands, for Node 20 takes no types off: imports of
 * `.ts` are rewritten.
 */
function passesContract(name, atLeast) {
  const folder = join(project, name);
  cpSync(join(root, 'examples', name), folder, { recursive: true });
  const compilerOptions = {
    ...{
      module: 'nodenext',
      target: 'es2022',
      strict: true,
      rewriteRelativeImportExtensions: true,
    },
    ...{ types: ['node'], typeRoots: [join(root, 'node_modules/@types')], skipLibCheck: true },
  };
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['*.ts'] }),
  );
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  run('npx', ['--no-install', 'tsc', '-p', folder], { cwd: root, stdio: 'inherit' });
  const report = run('node', ['--test', '--test-reporter=tap', join(folder, 'contract.js')], {
    cwd: project,
    env: { ...process.env, PATH },
  });
  const passed = Number(report.match(/^# pass (\d+)$/m)?.[1]);
  const failed = Number(report.match(/^# fail (\d+)$/m)?.[1]);
  if (!(passed >= atLeast && failed === 0))
    throw new Error(`${name}: ${passed} passed, ${failed} failed`);
  console.log(`${name}: ${passed} tests of the installed contract pass`);
}

function freePort() {
  return new Promise((found) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => found(port));
    });
  });
}
