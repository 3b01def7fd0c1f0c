// Installs the locked dependencies where they are missing or out of date, so that `npm test` and `npm run demo`
// work in a fresh clone. Runs on the machine's own Node; everything after it runs on the Node of devDependencies.
// With a folder, the dependencies of that one: large, and for some tests alone, which without them are skipped.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const folder = process.argv[2];
if (folder) process.chdir(folder);
const stamp = 'node_modules/.keyscope-setup';
const wanted = createHash('sha256').update(readFileSync('package-lock.json')).digest('hex');
const found = existsSync(stamp) ? readFileSync(stamp, 'utf8') : '';

if (found !== wanted) {
  const npm = process.env.npm_execpath;
  const [command, args] = npm ? [process.execPath, [npm]] : ['npm', []];
  // Not `npm ci`: it fails where the lock file lacks optional binaries of other platforms. This installs the locked
  // versions too, and leaves the lock file as it is.
  const options = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync(command, [...args, ...options], { stdio: 'inherit' });
  if (status !== 0) process.exit(folder && process.env.CI !== 'true' ? 0 : (status ?? 1));
  writeFileSync(stamp, wanted);
}
