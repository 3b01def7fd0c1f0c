/**
 * The examples of docstrings compile. A service's usual names are typed; other names may be
 * anything, so that only the use of this package is judged.
 */
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { packageEntries } from '../support/package-entries.ts';
import { ROOT, readProjectFile, sourceFrom, sourcesUnder, visit } from '../support/source.ts';

/** Names of a service, and where each is. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ...[
    'catalog',
    'entityId',
    'keyId',
    'keyring',
    'peppers',
    'policy',
    'principal',
    'store',
    'tools',
  ].map((name) => [name, '../readme/names.ts'] as const),
  ['Context', 'hono'],
  ['Hono', 'hono'],
  ['createGuard', '../../examples/hono/adapter.ts'],
  ['Guarded', '../../examples/hono/adapter.ts'],
  ['LRUCache', 'lru-cache'],
]);

/** Each entry, its folder, and the names that it exports. */
const ENTRIES = packageEntries().map(({ specifier, source }) => {
  const lists = readProjectFile(source).matchAll(/^export (?:type )?\{([^}]*)\}/gm);
  const names = [...lists].flatMap(([, list = '']) => list.match(/\w+/g) ?? []);
  return { specifier, folder: dirname(source), names };
});

/** The entry in whose folder the file is, if it exports the name; otherwise the first that does. */
function specifierOf(path: string, name: string): string | undefined {
  const exporting = ENTRIES.filter(({ names }) => names.includes(name));
  const own = exporting.find(({ folder }) => folder !== 'src' && path.startsWith(`${folder}/`));
  return (own ?? exporting[0])?.specifier;
}

/** The names that an example uses and neither declares nor has from the runtime. */
function freeNames(text: string): readonly string[] {
  const used = new Set<string>();
  const declared = new Set<string>();
  visit(sourceFrom(text).tree, (node) => {
    if (!ts.isIdentifier(node) || isMember(node)) return;
    const { parent } = node;
    const isDeclared = 'name' in parent && parent.name === node;
    const isShort = ts.isShorthandPropertyAssignment(parent);
    (isDeclared && !isShort ? declared : used).add(node.text);
  });
  return [...used].filter((name) => !declared.has(name) && !(name in globalThis));
}

function isMember(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isTypeReferenceNode(parent) && node.text === 'const') return true; // `as const`
  if (ts.isBindingElement(parent)) return parent.propertyName === node;
  const hasMember = ts.isPropertyAccessExpression(parent) || ts.isPropertyAssignment(parent);
  return hasMember && parent.name === node;
}

/** An example in a function, so that it may return. Its own imports and exports stay outside. */
function moduleOf(path: string, example: string): string {
  const head = freeNames(example).map((name) => {
    const from = NAMES.get(name) ?? specifierOf(path, name);
    if (from === undefined) return `declare const ${name}: any; type ${name} = any;`;
    return `import { ${name} } from '${from}';`;
  });
  const isModule = /^(?:import|export) /m.test(example);
  const body = isModule ? example : `export async function example() {\n${example}\n}`;
  return [...head, body].join('\n');
}

function examples(): ReadonlyMap<string, string> {
  const modules = new Map<string, string>();
  for (const { path, text } of sourcesUnder('src')) {
    const found = text.matchAll(/^ *\* @example\n((?: *\*(?: (?!@).*)?\n)+)/gm);
    for (const [, lines = ''] of found) {
      const example = lines.replaceAll(/^ *\* ?/gm, '').trim();
      const name = `${path.replaceAll(/\W/g, '-')}-${modules.size}.ts`;
      modules.set(join(ROOT, 'test/lint', name), moduleOf(path, example));
    }
  }
  return modules;
}

function optionsOfProject(): ts.CompilerOptions {
  const read = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile);
  const config = { ...(read.config as object), files: [] };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const off = { noUnusedLocals: false, noImplicitReturns: false, verbatimModuleSyntax: false };
  return { ...options, ...off, noImplicitAny: false, noPropertyAccessFromIndexSignature: false };
}

test('the example of each docstring compiles', () => {
  const modules = examples();
  expect(modules.size).toBeGreaterThan(100);
  const host = ts.createCompilerHost(optionsOfProject());
  const { readFile, fileExists } = host;
  host.readFile = (path) => modules.get(path) ?? readFile(path);
  host.fileExists = (path) => modules.has(path) || fileExists(path);
  const program = ts.createProgram([...modules.keys()], optionsOfProject(), host);
  const complaints = [...modules.keys()].flatMap((path) => {
    const file = program.getSourceFile(path);
    const found = [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ];
    return found.map(({ messageText }) => {
      const text = ts.flattenDiagnosticMessageText(messageText, '\n').split('\n')[0];
      return `${path.slice(join(ROOT, 'test/lint/').length)}: ${text}`;
    });
  });
  expect(complaints).toEqual([]);
});
