/**
 * `npm run bench`: the parts one after another, each in a process of its own, then the page and the
 * README's sentences. With names, as in `npm run bench -- growth flood`, only these parts; the
 * results of the others stay. With `-- --quick`, a rough run that saves nothing.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { writePages } from './page.ts';
import { PARTS, quick } from './report.ts';

const flags = process.argv.slice(2).filter((arg) => arg.startsWith('--'));
const named = process.argv.slice(2).filter((arg) => !arg.startsWith('--'));
const unknown = named.filter((name) => !PARTS.includes(name));
if (unknown.length > 0) {
  throw new TypeError(`unknown part ${unknown.join(', ')}; use ${PARTS.join(', ')}`);
}

const failed: string[] = [];
for (const part of PARTS.filter((name) => named.length === 0 || named.includes(name))) {
  const file = fileURLToPath(new URL(`${part}.ts`, import.meta.url));
  const start = performance.now();
  const { status } = spawnSync(process.execPath, [file, ...flags], { stdio: 'inherit' });
  const seconds = Math.round((performance.now() - start) / 1000);
  console.log(`\n${part}: ${status === 0 ? '' : 'failed after '}${seconds} s`);
  if (status !== 0) failed.push(part);
}
if (!quick) writePages();
if (failed.length > 0) throw new Error(`failed: ${failed.join(', ')}; their last results stay`);
