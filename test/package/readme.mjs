// Turns the TypeScript of the README and of the pages in docs into modules for the compiler. Each
// `ts` block gets the names that it takes for granted (test/readme). A block with lines for several
// frameworks becomes one module for each. Other blocks import a block by the name of a file in the
// comment on its first line.
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url);
const folder = new URL('test/readme/blocks/', root);
/** Pages with separate tests, which compile them with packages that are not installed here. */
const ELSEWHERE = [
  'docs/existing-service.md',
  'docs/frameworks.md',
  'docs/migrating.md',
  'docs/observing.md',
  'docs/orms.md',
  'docs/recipes.md',
];
const pages = globSync('docs/{,runbooks/}*.md', { cwd: root }).filter(
  (page) => !ELSEWHERE.includes(page),
);
const PAGES = ['README.md', ...pages];
const FRAMEWORKS = ['express', 'fastify', 'hono'];

/** The names that a block may use without importing them. */
const granted = [
  ...namesExportedBy('test/readme/names.ts'),
  ...namesExportedBy('test/readme/express.ts'),
];
/** The name of each imported block, and the name of its file here. */
const named = new Map();

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
for (const page of PAGES) writePage(page);

function writePage(page) {
  named.clear();
  const name = page.replace(/\W/g, '-');
  for (const [index, block] of blocksOf(read(page)).entries()) {
    for (const framework of frameworksOf(block)) writeBlock(`${name}-${index}`, block, framework);
  }
}

function read(path) {
  return readFileSync(new URL(path, root), 'utf8');
}

function blocksOf(markdown) {
  return [...markdown.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, block]) => block);
}

function namesExportedBy(path) {
  const text = read(path);
  const declared = text.matchAll(/^export (?:declare )?(?:class|const|function) (\w+)/gm);
  const lists = text.matchAll(/^export \{([^}]*)\}/gm);
  return [
    ...[...declared].map(([, name]) => name),
    ...[...lists].flatMap(([, list]) => list.match(/\w+/g)),
  ];
}

/** Returns the framework that a line is for, or undefined if it is for all. */
function frameworkOf(line) {
  return /\/\/ (Express|Fastify|Hono)\b/.exec(line)?.[1]?.toLowerCase();
}

function frameworksOf(block) {
  const mentioned = block.split('\n').map(frameworkOf);
  const used = FRAMEWORKS.filter((name) => mentioned.includes(name));
  return used.length > 0 ? used : ['express'];
}

function writeBlock(place, block, framework) {
  const file = `${place}-${framework}.ts`;
  const text = textFor(block, framework);
  const name = /^\/\/ ([\w-]+\.ts)\n/.exec(block)?.[1];
  if (name !== undefined) named.set(name, file);
  const wanted = namesTakenForGranted(text);
  const imports =
    wanted.length > 0 ? `import { ${wanted.join(', ')} } from '../${framework}.ts';\n` : '';
  writeFileSync(new URL(file, folder), `${imports}${text}\nexport {};\n`);
}

/** Removes the lines of other frameworks, and makes imports work from here. */
function textFor(block, framework) {
  const lines = block.split('\n').filter((line) => {
    const of = frameworkOf(line);
    return of === undefined || of === framework;
  });
  // Users copy the adapter next to the recipe.
  const adapter = `../../../examples/${framework}/adapter.ts`;
  let text = lines.join('\n').replaceAll('./adapter.ts', adapter);
  for (const [name, file] of named) text = text.replaceAll(`./${name}`, `./${file}`);
  return text;
}

function namesTakenForGranted(text) {
  const declarations = text.matchAll(
    /\b(?:const|let|function|import)\s+(\{[^}]*\}|\[[^\]]*\]|\w+)/g,
  );
  const own = [...declarations].flatMap(([, what]) => what.match(/\w+/g));
  const isUsed = (name) => new RegExp(`(?<![.\\w'])${name}\\b`).test(text);
  return granted.filter((name) => !own.includes(name) && isUsed(name));
}
