// `npm run test:runtimes`: the packed package on every runtime that the README names. Brings the
// runtimes from npm into this folder, installs the tarball beside them, runs the suites on each,
// and prints a table.
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

const here = import.meta.dirname;
const root = resolve(here, '../..');
const out = join(here, 'node_modules/.keyscope');
const run = (command, args, cwd = here) =>
  execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

// The package `node` copies one of these; by themselves they install without a script, several side
// by side.
const platform = `${process.platform}-${process.arch}`.replace('win32', 'win');
const NODES = ['20.19.0', '20.20.2', '22.23.3', '24.21.0', '26.9.0'];

const tarball = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', here], root))[0]
  .filename;
try {
  const nodes = NODES.map((version) => `node-${version}@npm:node-${platform}@${version}`);
  const jose = JSON.parse(
    readFileSync(join(root, 'node_modules/jose/package.json'), 'utf8'),
  ).version;
  run('npm', [
    'install',
    '--no-save',
    '--no-package-lock',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    ...nodes,
    `./${tarball}`,
    `jose@${jose}`,
  ]);
} finally {
  rmSync(join(here, tarball));
}

const names = readdirSync(join(root, 'test/vectors')).map((file) => file.replace('.json', ''));
const vectors = names.map(
  (name) => `"${name}": ${readFileSync(join(root, `test/vectors/${name}.json`), 'utf8')}`,
);
const main = join(here, 'main.generated.mjs');
// A worker runs its tests in a handler; everything else runs a file.
const worker = join(here, 'worker.generated.mjs');
const config = join(here, 'worker.generated.capnp');
writeFileSync(join(here, 'vectors.generated.mjs'), `export default {${vectors.join(',\n')}};\n`);
writeFileSync(
  main,
  `import { runAll } from './suites.mjs';
import vectors from './vectors.generated.mjs';
console.log('RESULT ' + JSON.stringify(await runAll(vectors)));
`,
);
writeFileSync(
  worker,
  `import { runAll } from './suites.mjs';
import vectors from './vectors.generated.mjs';
export default { async test() { console.log('RESULT ' + JSON.stringify(await runAll(vectors))); } };
`,
);
await build({
  entryPoints: [worker],
  bundle: true,
  // The package that was installed here, not the source that the project's own paths lead to.
  tsconfigRaw: '{}',
  format: 'esm',
  outfile: `${out}-worker.mjs`,
  conditions: ['workerd', 'worker'],
  logLevel: 'error',
});
writeFileSync(
  config,
  `using Workerd = import "/workerd/workerd.capnp";
const unit :Workerd.Config = (services = [(name = "main", worker = .main)]);
const main :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "node_modules/.keyscope-worker.mjs")],
  compatibilityDate = "2026-01-01",
);
`,
);

const bin = (name) => join(here, 'node_modules/.bin', name);
const node = (version) => join(here, `node_modules/node-${version}/bin/node`);
const RUNTIMES = [
  ...NODES.map((version) => ['Node', node(version), [main]]),
  ['Bun', bin('bun'), ['run', main]],
  ['Deno', bin('deno'), ['run', '--no-lock', '--node-modules-dir=manual', main]],
  ['workerd', bin('workerd'), ['test', config]],
];

/** One row of the table: suite → checks, or what went wrong. */
function tryOn([name, command, args]) {
  const version = spawnSync(command, ['--version'], { encoding: 'utf8' }).stdout?.match(
    /\d[\d.-]*\d/,
  )?.[0];
  const env = { ...process.env, NO_COLOR: '1' };
  const {
    stdout = '',
    stderr = '',
    status,
  } = spawnSync(command, args, { cwd: here, encoding: 'utf8', env });
  const line = `${stdout}\n${stderr}`.match(/RESULT (\{.*\})/)?.[1];
  const { digestBackend = 'none', results = {} } = line ? JSON.parse(line) : {};
  const errors = Object.entries(results).filter(([, checks]) => !(checks > 0));
  const failed = status !== 0 || line === undefined || errors.length > 0;
  if (failed) console.error(`\n${name} ${version} failed:`, line ? errors : stderr || stdout);
  const shown = Object.entries(results).map(([suite, checks]) => [
    suite,
    checks > 0 ? checks : 'FAILED',
  ]);
  return {
    failed,
    row: { runtime: name, version, hash: digestBackend, ...Object.fromEntries(shown) },
  };
}

const tried = RUNTIMES.map(tryOn);
console.table(
  Object.fromEntries(
    tried.map(({ row: { runtime, version, ...rest } }) => [`${runtime} ${version}`, rest]),
  ),
);
for (const file of readdirSync(here)) if (file.includes('.generated.')) rmSync(join(here, file));
process.exitCode = tried.some(({ failed }) => failed) ? 1 : 0;
