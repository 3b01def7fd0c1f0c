/**
 * The declarations that an entry of the package exports, without comments. The compiler makes them
 * one file at a time, because the source writes out its types.
 */
import ts from 'typescript';
import {
  type Declared,
  declarationsOf,
  type Entry,
  exportsOf,
  namedBy,
  namesOf,
} from './entries.ts';
import { type Source, sourceOf } from './source.ts';

const printer = ts.createPrinter({ removeComments: true });
const declarations = new Map<string, ReadonlyMap<string, string>>();

/** Returns the declarations of a file by name. Overloads are one text. */
function declarationsIn({ path, text }: Source): ReadonlyMap<string, string> {
  const known = declarations.get(path);
  if (known !== undefined) return known;
  const { outputText } = ts.transpileDeclaration(text, { fileName: path });
  const file = ts.createSourceFile(path, outputText, ts.ScriptTarget.Latest, true);
  const found = new Map<string, string>();
  for (const statement of file.statements) {
    const printed = printer.printNode(ts.EmitHint.Unspecified, statement, file);
    const shown = printed.replace(/^(?:export )?(?:declare )?/, '');
    for (const [name] of namesOf(statement)) {
      const overloads = found.get(name);
      found.set(name, overloads === undefined ? shown : `${overloads}\n${shown}`);
    }
  }
  declarations.set(path, found);
  return found;
}

interface Shown {
  readonly name: string;
  readonly text: string;
}

function show(source: Source, original: string, note = ''): Shown {
  const text = declarationsIn(source).get(original);
  if (text === undefined) throw new Error(`${source.path} declares no ${original}`);
  return { name: original, text: `${note}${text}\n` };
}

/** Returns every declaration that an entry exports, several for overloads. */
function exportedBy({ source }: Entry): readonly Declared[] {
  return exportsOf(source).flatMap(({ original, from }) =>
    declarationsOf(sourceOf(from), original),
  );
}

/** Returns the types that an entry's declarations name but that no entry exports. */
function hiddenBehind(entry: Entry, exported: ReadonlySet<ts.Node>): readonly Declared[] {
  const waiting = exportedBy(entry).flatMap(namedBy);
  const hidden = new Map<ts.Node, Declared>();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (hidden.has(next.node) || exported.has(next.node)) continue;
    hidden.set(next.node, next);
    waiting.push(...namedBy(next));
  }
  return [...hidden.values()];
}

function reportOf(entry: Entry, exported: ReadonlySet<ts.Node>): string {
  const shown = exportsOf(entry.source).map(({ name, original, from }) => {
    const alias = name === original ? '' : `// exported as ${name}\n`;
    return show(sourceOf(from), original, alias);
  });
  for (const { source, node } of hiddenBehind(entry, exported)) {
    const { name } = node as ts.InterfaceDeclaration | ts.TypeAliasDeclaration;
    shown.push(show(source, name.text, '// not exported\n'));
  }
  const inOrder = shown.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return inOrder.map(({ text }) => text).join('\n');
}

/** Returns the report of each entry, by its name in `exports`. */
export function apiReports(entries: readonly Entry[]): ReadonlyMap<string, string> {
  const exported = new Set(entries.flatMap(exportedBy).map(({ node }) => node));
  return new Map(entries.map((entry) => [entry.name, reportOf(entry, exported)]));
}
