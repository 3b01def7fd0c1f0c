/**
 * A user's project in memory: one file that imports the package by name, and the language service
 * that an editor would run on it.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from './source.ts';

const FILE = join(ROOT, 'a-users-file.ts');

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  lib: ['lib.es2023.d.ts', 'lib.es2024.string.d.ts', 'lib.dom.d.ts'],
  types: [],
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  skipLibCheck: true,
  paths: { '#noble': [join(ROOT, 'src/native/noble.ts')], keyscope: [join(ROOT, 'src/index.ts')] },
};

/** Shares the parsed libraries between projects. */
const parsed = ts.createDocumentRegistry();

/** The hover that an editor shows for a name. */
export interface Hover {
  readonly signature: string;
  readonly documentation: string;
}

export interface Member extends Hover {
  readonly name: string;
}

export interface UserProject {
  /** For the first mention of a name in the file. */
  hoverOver(name: string): Hover;
  /** The members of an exported type; for a union, those of each part. */
  membersOf(type: string): readonly Member[];
  /** The compiler's errors in the file. */
  errors(): readonly string[];
}

/** The file is in the root, where its imports resolve, but not on disk. */
export function openProject(text: string): UserProject {
  const host: ts.LanguageServiceHost = {
    getCompilationSettings: () => OPTIONS,
    getScriptFileNames: () => [FILE],
    // Projects share the parsed libraries, but each has a different text under this name.
    getScriptVersion: (path) => (path === FILE ? text : '1'),
    getScriptSnapshot: (path) => {
      if (path === FILE) return ts.ScriptSnapshot.fromString(text);
      return existsSync(path)
        ? ts.ScriptSnapshot.fromString(readFileSync(path, 'utf8'))
        : undefined;
    },
    getCurrentDirectory: () => ROOT,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (path) => path === FILE || ts.sys.fileExists(path),
    readFile: (path) => (path === FILE ? text : ts.sys.readFile(path)),
    directoryExists: ts.sys.directoryExists,
  };
  const service = ts.createLanguageService(host, parsed);

  function hoverOver(name: string): Hover {
    const position = text.search(new RegExp(`\\b${name}\\b`));
    const info = service.getQuickInfoAtPosition(FILE, position);
    const signature = ts.displayPartsToString(info?.displayParts);
    return {
      // For an imported name, editors also show the import.
      signature: signature.replace(/^\(alias\) |\nimport \w+$/g, ''),
      documentation: ts.displayPartsToString(info?.documentation),
    };
  }

  function membersOf(type: string): readonly Member[] {
    const program = service.getProgram();
    const file = program?.getSourceFile(FILE);
    if (program === undefined || file === undefined) throw new Error('the project has no file');
    const checker = program.getTypeChecker();
    const found = checker.getSymbolsInScope(file, ts.SymbolFlags.Alias);
    const symbol = found.find((each) => each.name === type);
    if (symbol === undefined) throw new Error(`the file imports no ${type}`);
    const declared = checker.getDeclaredTypeOfSymbol(checker.getAliasedSymbol(symbol));
    const parts = declared.isUnion() ? declared.types : [declared];
    return parts.flatMap((part) =>
      part
        .getProperties()
        .map((property) => ({
          name: property.name,
          signature: checker.typeToString(checker.getTypeOfSymbol(property)),
          documentation: ts.displayPartsToString(property.getDocumentationComment(checker)),
        })),
    );
  }

  function errors(): readonly string[] {
    return service
      .getSemanticDiagnostics(FILE)
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
  }

  return { hoverOver, membersOf, errors };
}
