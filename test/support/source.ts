/**
 * The project's source as the compiler's parser sees it, for the tests of its structure. Each
 * process reads and parses a file once. Paths are relative to the root of the project, with `/` on
 * every system.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** No test reads the parts of a comment. */
const OPTIONS: ts.CreateSourceFileOptions = {
  languageVersion: ts.ScriptTarget.Latest,
  jsDocParsingMode: ts.JSDocParsingMode.ParseNone,
};

/** A file, or a sample of what a file could hold. */
export interface Source {
  readonly path: string;
  readonly text: string;
  /** Parsed at the first access. */
  readonly tree: ts.SourceFile;
}

export function readProjectFile(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

const NOT_OURS = /(?:^|\/)(?:node_modules|blocks|\.[^/]+)$/;

/** Returns every file under a folder of the project with this ending, sorted. */
export function filesUnder(folder: string, ending: string): readonly string[] {
  const found: string[] = [];
  for (const entry of readdirSync(join(ROOT, folder), { withFileTypes: true })) {
    const path = normalize(join(folder, entry.name)).split(sep).join('/');
    if (entry.isDirectory() && !NOT_OURS.test(path)) found.push(...filesUnder(path, ending));
    if (entry.isFile() && entry.name.endsWith(ending)) found.push(path);
  }
  return found.sort();
}

/**
 * Returns every TypeScript file under a folder of the project, or every file with another ending.
 */
export function sourcesUnder(folder: string, ending = '.ts'): readonly Source[] {
  return filesUnder(folder, ending).map(sourceOf);
}

const sources = new Map<string, Source>();

export function sourceOf(path: string): Source {
  const known = sources.get(path);
  if (known !== undefined) return known;
  const source = sourceFrom(readProjectFile(path), path);
  sources.set(path, source);
  return source;
}

export function sourceFrom(text: string, path = 'sample.ts'): Source {
  let tree: ts.SourceFile | undefined;
  return {
    path,
    text,
    get tree() {
      tree ??= ts.createSourceFile(path, text, OPTIONS, true);
      return tree;
    },
  };
}

/** Visits a node and everything below it, except tokens. */
export function visit(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node);
  ts.forEachChild(node, (child) => visit(child, see));
}

/** Returns `file.ts:12`, for messages. */
export function placeOf(source: Source, node: ts.Node): string {
  const { line } = source.tree.getLineAndCharacterOfPosition(node.getStart(source.tree));
  return `${source.path}:${line + 1}`;
}

// ── Imports ─────────────────────────────────────────────────────────────────────────────────────

export interface Import {
  readonly specifier: string;
  /** Whether nothing of the whole statement remains at run time. */
  readonly typesOnly: boolean;
}

function readImport(node: ts.Node): Import | null {
  if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
    const typesOnly = node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
    return { specifier: node.moduleSpecifier.text, typesOnly };
  }
  if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
    const { moduleSpecifier, isTypeOnly } = node;
    return ts.isStringLiteral(moduleSpecifier)
      ? { specifier: moduleSpecifier.text, typesOnly: isTypeOnly }
      : null;
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
    return { specifier: node.argument.literal.getText().slice(1, -1), typesOnly: true };
  }
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    const specifier = node.arguments[0];
    if (specifier !== undefined && ts.isStringLiteralLike(specifier)) {
      return { specifier: specifier.text, typesOnly: false };
    }
  }
  return null;
}

const importLists = new WeakMap<Source, readonly Import[]>();

/**
 * Returns the imports of every kind: imports, re-exports, `import('…')` as a value and as a type.
 */
export function importsOf(source: Source): readonly Import[] {
  const known = importLists.get(source);
  if (known !== undefined) return known;
  const found: Import[] = [];
  visit(source.tree, (node) => {
    const read = readImport(node);
    if (read !== null) found.push(read);
  });
  importLists.set(source, found);
  return found;
}

/** Returns the file of a relative import. In `src`, `.js` means the `.ts` in the same folder. */
export function targetOf(source: Source, specifier: string): string {
  const path = normalize(join(dirname(source.path), specifier))
    .split(sep)
    .join('/');
  return path.replace(/\.js$/, '.ts');
}

/** Returns the files of the project that a source imports, including types. */
export function filesImportedBy(source: Source): readonly string[] {
  return importsOf(source)
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ specifier }) => targetOf(source, specifier));
}

/** Returns the packages and built-in modules that a source imports, including types. */
export function packagesImportedBy(source: Source): readonly string[] {
  return importsOf(source)
    .map(({ specifier }) => specifier)
    .filter((specifier) => !specifier.startsWith('.'));
}

/** Returns a file and every file that it imports, directly or indirectly. */
export function closureOf(entry: string, types: 'with types' | 'without types'): readonly Source[] {
  const reached = new Map<string, Source>();
  const waiting = [entry];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (reached.has(path)) continue;
    const source = sourceOf(path);
    reached.set(path, source);
    for (const { specifier, typesOnly } of importsOf(source)) {
      const wanted = types === 'with types' || !typesOnly;
      if (wanted && specifier.startsWith('.')) waiting.push(targetOf(source, specifier));
    }
  }
  return [...reached.values()];
}

/** Returns each circle of imports once, as its list of files. */
export function circlesAmong(sources: readonly Source[]): readonly string[] {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const circles: string[] = [];
  const done = new Set<string>();
  function follow(path: string, way: readonly string[]): void {
    const source = byPath.get(path);
    if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(' → '));
    else if (source !== undefined && !done.has(path)) {
      for (const next of filesImportedBy(source)) follow(next, [...way, path]);
    }
    done.add(path);
  }
  for (const path of byPath.keys()) follow(path, []);
  return circles;
}
