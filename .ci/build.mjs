// The build of `npm run demo`, which says what it does and how long it takes.
import { spawnSync } from 'node:child_process';

const begun = performance.now();
console.log('Building the package …');
const { status } = spawnSync('npm', ['run', '--silent', 'build'], {
  stdio: 'inherit',
  // On Windows npm is a script.
  shell: process.platform === 'win32',
});
if (status !== 0) process.exit(status ?? 1);
console.log(`Built in ${Math.round((performance.now() - begun) / 1000)} s. Starting the demo …`);
