/** What `import 'keyscope'` loads, and how long it takes, each time in a process of its own. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { quantile } from './harness.ts';

// Of the package, so that its name resolves to itself.
const cwd = fileURLToPath(new URL('..', import.meta.url));

function inChild(code: string): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    cwd,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`a child process failed: ${stderr}`);
  return stdout;
}

const LIST = (specifier: string) => `
  import { registerHooks } from 'node:module';
  const urls = [];
  registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });
  await import(${JSON.stringify(specifier)});
  console.log(JSON.stringify(urls));`;

/** The modules that an import loads, the package's own and others apart. Throws where zod or jose is among them. */
export function loadedBy(specifier: string): { readonly own: number; readonly others: readonly string[] } {
  const urls = JSON.parse(inChild(LIST(specifier))) as string[];
  const others = urls.filter((url) => url.includes('/node_modules/') || url.startsWith('node:'));
  const heavy = others.filter((url) => /\/node_modules\/(?:zod|jose)\//.test(url));
  if (heavy.length > 0) throw new Error(`import '${specifier}' loads ${heavy.join(' ')}`);
  const names = others.map((url) => url.replace(/^.*\/node_modules\//, ''));
  return { own: urls.length - others.length, others: names };
}

const TIME = (specifier: string) => `
  const start = performance.now();
  await import(${JSON.stringify(specifier)});
  console.log(performance.now() - start);`;

/** Median milliseconds of an import and of an empty module's, interleaved. */
export function importTimes(specifier: string, rounds: number): { readonly ms: number; readonly empty: number } {
  const times: Record<'ms' | 'empty', number[]> = { ms: [], empty: [] };
  for (let round = 0; round < rounds; round++) {
    times.empty.push(Number(inChild(TIME('data:text/javascript,'))));
    times.ms.push(Number(inChild(TIME(specifier))));
  }
  return { ms: quantile(times.ms, 0.5), empty: quantile(times.empty, 0.5) };
}
