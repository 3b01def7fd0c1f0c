// Installs the packages of the lock file if they are missing or out of date, so that `npm test` and
// `npm run demo` work in a fresh clone. Given folders, it installs their dependencies instead: they
// are large, and only some tests need them and are skipped without them. Everything after it runs
// on the Node in devDependencies. npm itself runs on the machine's Node, because `npm ci` starts by
// removing the other one.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const folders = process.argv.slice(2);
for (const folder of folders.length > 0 ? folders : ['.']) install(folder);

function install(folder) {
  const lock = readFileSync(join(folder, 'package-lock.json'));
  const wanted = createHash('sha256').update(lock).digest('hex');
  const stamp = join(folder, 'node_modules/.keyscope-setup');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;

  const status = npmCi(folder);
  if (status === 0) writeFileSync(stamp, wanted);
  else if (folder === '.' || process.env.CI === 'true') process.exit(status ?? 1);
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
