// The README's TypeScript as modules, for the compiler to read: each `ts` block with the names that
// it takes for granted (test/readme). A block with lines for several frameworks becomes one for
// each. One whose first line is a comment with a file's name is imported by that name.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url);
const folder = new URL('test/readme/blocks/', root);
const FRAMEWORKS = ['express', 'fastify', 'hono'];

const read = (path) => readFileSync(new URL(path, root), 'utf8');
const exported = (text) => [
  ...text.matchAll(/^export (?:declare )?(?:const|function) (\w+)|^export \{ ([^}]*) \}/gm),
];
const names = ['names', 'express']
  .flatMap((name) => exported(read(`test/readme/${name}.ts`)))
  .flatMap(([, one, list]) => one ?? list.split(', '));

const files = new Map();
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
for (const [index, [, block]] of [
  ...read('README.md').matchAll(/^```ts\n([\s\S]*?)^```/gm),
].entries()) {
  const lines = block
    .split('\n')
    .map((line) => [line, /\/\/ (Express|Fastify|Hono)\b/.exec(line)?.[1]?.toLowerCase()]);
  const used = FRAMEWORKS.filter((name) => lines.some(([, framework]) => framework === name));
  for (const framework of used.length > 0 ? used : ['express']) {
    const code = lines
      .filter(([, of]) => of === undefined || of === framework)
      .map(([line]) => line);
    // Users copy the adapter to where the recipe is.
    let text = code
      .join('\n')
      .replaceAll('./adapter.ts', `../../../examples/${framework}/adapter.ts`);
    for (const [name, file] of files) text = text.replaceAll(`./${name}`, `./${file}`);
    const [, name] = /^\/\/ (\w+\.ts)\n/.exec(block) ?? [];
    if (name) files.set(name, `${index}-${framework}.ts`);
    const declared = [
      ...text.matchAll(/\b(?:const|let|function|import)\s+(\{[^}]*\}|\[[^\]]*\]|\w+)/g),
    ];
    const own = declared.flatMap(([, what]) => what.match(/\w+/g));
    const wanted = names.filter(
      (name) => !own.includes(name) && new RegExp(`(?<![.\\w'])${name}\\b`).test(text),
    );
    const imports =
      wanted.length > 0 ? `import { ${wanted.join(', ')} } from '../${framework}.ts';\n` : '';
    writeFileSync(new URL(`${index}-${framework}.ts`, folder), `${imports}${text}\nexport {};\n`);
  }
}
