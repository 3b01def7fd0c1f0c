// `npm run docs`: the site, and the reference of everything that the package exports. Warnings
// of either fail.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const { exports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const entries = Object.values(exports)
  .filter((entry) => entry.types !== undefined)
  .map((entry) => entry.types.replace('./dist/', '../src/').replace(/\.d\.ts$/, '.ts'));

const run = (file, ...args) => {
  const options = { cwd: import.meta.dirname, stdio: 'inherit' };
  execFileSync(process.execPath, [file, ...args], options);
};
run('node_modules/vitepress/bin/vitepress.js', 'build', '.');
run('node_modules/typedoc/bin/typedoc', '--options', 'typedoc.json', ...entries);
run('check-links.mjs');
