/**
 * `npm run bench`: the parts one after another, each in a process of its own, then the pages and
 * charts of what they measured. With names, `npm run bench -- verify cold`, those alone; with `--
 * --quick` a short run that is printed and not kept. The last results of a part that does not run
 * stay as they are.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { PARTS, quick } from './report.ts';
import { writePages } from './results-page.ts';

const flags = process.argv.slice(2).filter((arg) => arg.startsWith('--'));
const named = process.argv.slice(2).filter((arg) => !arg.startsWith('--'));
const unknown = named.filter((name) => !PARTS.includes(name));
if (unknown.length > 0) {
  throw new TypeError(`no part ${unknown.join(', ')}: there are ${PARTS.join(', ')}`);
}

const failed: string[] = [];
for (const part of PARTS) {
  const file = fileURLToPath(new URL(`${part}.ts`, import.meta.url));
  if (named.length > 0 && !named.includes(part)) continue;
  const start = performance.now();
  const { status } = spawnSync(process.execPath, [file, ...flags], { stdio: 'inherit' });
  const seconds = Math.round((performance.now() - start) / 1000);
  console.log(`\n${part}: ${status === 0 ? '' : 'failed after '}${seconds} s`);
  if (status !== 0) failed.push(part);
}
if (!quick) writePages();
if (failed.length > 0) {
  throw new Error(`failed: ${failed.join(', ')}; what they measured before is kept`);
}
