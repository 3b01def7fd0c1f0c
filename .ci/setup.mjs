// Installs the packages of the lock file if they are missing or out of date, so that `npm test` and
// `npm run demo` work in a fresh clone. Given folders, it installs their dependencies instead: they
// are large, and only some tests need them and are skipped without them. Everything after it runs
// on the Node in devDependencies. npm itself runs on the machine's Node, because `npm ci` starts by
// removing the other one.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const folders = process.argv.slice(2);
for (const folder of folders.length > 0 ? folders : ['.']) install(folder);

function install(folder) {
  if (isInstalled(folder)) return;
  const begun = performance.now();
  console.log(`Installing the packages of ${join(folder, 'package-lock.json')} …`);
  const status = npmCi(folder);
  if (status === 0)
    console.log(`Installed in ${Math.round((performance.now() - begun) / 1000)} s.`);
  else if (folder === '.' || process.env.CI === 'true') process.exit(status ?? 1);
}

/** Compares the lock file with the one that npm leaves in `node_modules` when it has installed. */
function isInstalled(folder) {
  const left = join(folder, 'node_modules/.package-lock.json');
  if (!existsSync(left)) return false;
  const installed = packagesIn(left);
  const { '': _, ...wanted } = packagesIn(join(folder, 'package-lock.json'));
  // Packages for other platforms are not installed.
  const isThere = ([path, { version, integrity, optional }]) => {
    const found = installed[path];
    if (found === undefined) return optional === true;
    return found.version === version && found.integrity === integrity;
  };
  const isWanted = (path) => path in wanted;
  return Object.entries(wanted).every(isThere) && Object.keys(installed).every(isWanted);
}

function packagesIn(path) {
  return JSON.parse(readFileSync(path, 'utf8')).packages;
}

function npmCi(folder) {
  const PATH = process.env.PATH.split(delimiter)
    .filter((entry) => !entry.includes('node_modules'))
    .join(delimiter);
  const options = ['--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync('npm', ['ci', ...options], {
    cwd: folder,
    env: { ...process.env, PATH },
    stdio: 'inherit',
    // On Windows npm is a script.
    shell: process.platform === 'win32',
  });
  return status;
}
