// Installs the locked dependencies where they are missing or out of date, so that `npm test` and
// `npm run demo` work in a fresh clone. Runs on the machine's own Node; everything after it runs on
// the Node of devDependencies. With folders, the dependencies of those: large, and for some tests
// alone, which without them are skipped.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folders = process.argv.slice(2);
for (const folder of folders.length > 0 ? folders : ['.']) {
  const stamp = join(folder, 'node_modules/.keyscope-setup');
  const lock = readFileSync(join(folder, 'package-lock.json'));
  const wanted = createHash('sha256').update(lock).digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) continue;
  const npm = process.env.npm_execpath;
  const [command, args] = npm ? [process.execPath, [npm]] : ['npm', []];
  // Not `npm ci`: it fails where the lock file lacks optional binaries of other platforms. This
  // installs the locked versions too, and leaves the lock file as it is.
  const options = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync(command, [...args, ...options], { cwd: folder, stdio: 'inherit' });
  if (status === 0) writeFileSync(stamp, wanted);
  else if (folder === '.' || process.env.CI === 'true') process.exit(status ?? 1);
}
