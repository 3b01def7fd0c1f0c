// `npm run test:runtimes`: tests the packed package on every runtime that the README names.
// Installs the runtimes from npm into this folder, and the tarball with them. Then it runs the
// suites on each and prints a table.
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

const here = import.meta.dirname;
const root = resolve(here, '../..');
const main = join(here, 'main.generated.mjs');
const printer = join(here, 'printer.generated.mjs');
// A worker runs its tests in a handler; everything else runs a file.
const worker = join(here, 'worker.generated.mjs');
const workerConfig = join(here, 'worker.generated.capnp');

const NODES = ['20.19.0', '20.20.2', '22.23.3', '24.21.0', '26.9.0'];
const RUNTIMES = [
  ...NODES.map((version) => ({ name: 'Node', command: nodeOf(version), args: [main] })),
  { name: 'Bun', command: binary('bun'), args: ['run', main] },
  {
    name: 'Deno',
    command: binary('deno'),
    args: ['run', '--no-lock', '--node-modules-dir=manual', main],
  },
  { name: 'workerd', command: binary('workerd'), args: ['test', workerConfig] },
];

installAll();
writeVectors();
writeMain();
await writeWorker();
const tried = RUNTIMES.map(tryOn);
console.table(Object.fromEntries(tried.map(({ title, row }) => [title, row])));
for (const file of readdirSync(here)) if (file.includes('.generated.')) rmSync(join(here, file));
process.exitCode = tried.some(({ failed }) => failed) ? 1 : 0;

function binary(name) {
  return join(here, 'node_modules/.bin', name);
}

function nodeOf(version) {
  return join(here, `node_modules/node-${version}/bin/node`);
}

// ── Installed programs ──────────────────────────────────────────────────────────────────────────

function run(command, args, cwd = here) {
  return execFileSync(command, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

function pack() {
  const said = run('npm', ['pack', '--json', '--pack-destination', here], root);
  const [{ filename }] = JSON.parse(said);
  return filename;
}

// Without a lock file: npm would only list what it finds for this platform, and the registry does
// not always serve the runtimes for all platforms.
function installAll() {
  const options = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund'];
  // The package `node` copies one of these. Installed directly, they need no script, and several
  // can coexist.
  const platform = `${process.platform}-${process.arch}`.replace('win32', 'win');
  const nodes = NODES.map((version) => `node-${version}@npm:node-${platform}@${version}`);
  const manifest = readFileSync(join(root, 'node_modules/jose/package.json'), 'utf8');
  const jose = `jose@${JSON.parse(manifest).version}`;
  const tarball = pack();
  try {
    run('npm', ['install', ...options, '--loglevel=error', ...nodes, `./${tarball}`, jose]);
  } finally {
    rmSync(join(here, tarball));
  }
}

// ── Running the suites ──────────────────────────────────────────────────────────────────────────

function writeVectors() {
  const files = readdirSync(join(root, 'test/vectors')).filter((file) => file.endsWith('.json'));
  const entries = files.map((file) => {
    const vectors = readFileSync(join(root, 'test/vectors', file), 'utf8');
    return `"${file.replace('.json', '')}": ${vectors}`;
  });
  const text = `export default {${entries.join(',\n')}};\n`;
  writeFileSync(join(here, 'vectors.generated.mjs'), text);
}

function writeMain() {
  const text = `import { runAll } from './suites.mjs';
import vectors from './vectors.generated.mjs';
console.log('RESULT ' + JSON.stringify(await runAll(vectors)));
`;
  writeFileSync(main, text);
  // Prints the errors on the console, then lets the runtime report one that nobody catches.
  const printing = `import { makeErrors, printAll } from './output.mjs';
const { errors, secrets } = await makeErrors();
console.log('SECRETS ' + JSON.stringify(secrets));
printAll(errors);
throw errors[0];
`;
  writeFileSync(printer, printing);
}

/** Whether a runtime prints any part of a driver's error or of a key. */
function printsSecrets(command, args) {
  const printing = args.map((argument) => (argument === main ? printer : argument));
  const env = { ...process.env, NO_COLOR: '1' };
  const options = { cwd: here, encoding: 'utf8', env, maxBuffer: 2 ** 28 };
  const { stdout, stderr, status } = spawnSync(command, printing, options);
  const line = stdout.match(/^SECRETS (.+)$/m);
  const printed = `${stdout}\n${stderr}`.replace(line?.[0], '');
  const told = 'store.findByDigest failed';
  // The output must include the uncaught error and each printed one.
  if (status === 0 || line === null || printed.split(told).length < 50) {
    throw new Error(`the errors were not printed: ${printed.slice(0, 2000)}`);
  }
  const shown = JSON.parse(line[1]).filter((secret) => printed.includes(secret));
  return shown.length > 0;
}

async function writeWorker() {
  const text = `import { runAll } from './suites.mjs';
import vectors from './vectors.generated.mjs';
export default {
  async test() { console.log('RESULT ' + JSON.stringify(await runAll(vectors))); },
};
`;
  writeFileSync(worker, text);
  await build({
    entryPoints: [worker],
    bundle: true,
    // Resolves the installed package instead of the source that this project's paths lead to.
    tsconfigRaw: '{}',
    format: 'esm',
    outfile: join(here, 'node_modules/.keyscope-worker.mjs'),
    conditions: ['workerd', 'worker'],
    logLevel: 'error',
  });
  const config = `using Workerd = import "/workerd/workerd.capnp";
const unit :Workerd.Config = (services = [(name = "main", worker = .main)]);
const main :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "node_modules/.keyscope-worker.mjs")],
  compatibilityDate = "2026-01-01",
);
`;
  writeFileSync(workerConfig, config);
}

function versionOf(command) {
  const { stdout } = spawnSync(command, ['--version'], { encoding: 'utf8' });
  return stdout?.match(/\d[\d.-]*\d/)?.[0];
}

/** One row of the table: suite → checks, or the error. */
function tryOn({ name, command, args }) {
  const title = `${name} ${versionOf(command)}`;
  const env = { ...process.env, NO_COLOR: '1' };
  const ran = spawnSync(command, args, { cwd: here, encoding: 'utf8', env });
  const line = `${ran.stdout}\n${ran.stderr}`.match(/RESULT (\{.*\})/)?.[1];
  if (line === undefined) {
    console.error(`\n${title} failed:`, ran.error ?? (ran.stderr || ran.stdout));
    return { title, failed: true, row: { hash: 'none' } };
  }
  const { digestBackend, results } = JSON.parse(line);
  const row = { hash: digestBackend };
  const errors = [];
  for (const [suite, checks] of Object.entries(results)) {
    row[suite] = checks > 0 ? checks : 'FAILED';
    if (!(checks > 0)) errors.push([suite, checks]);
  }
  // A worker only runs the suite.
  const canPrint = args.includes(main);
  const prints = canPrint && printsSecrets(command, args);
  if (canPrint) row.console = prints ? 'FAILED' : 'ok';
  if (prints) errors.push(['console', 'prints a secret from an error']);
  const failed = ran.status !== 0 || errors.length > 0;
  if (failed) console.error(`\n${title} failed:`, errors);
  return { title, failed, row };
}
