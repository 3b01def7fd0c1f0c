/**
 * The errors that docs/frameworks.md explains: what the compiler says about the package in the
 * projects of users, and that the ways out compile. The package is its `package.json` with a few
 * types, because only the layout matters here.
 */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import ts from 'typescript';
import { afterEach, describe, expect, test } from 'vitest';
import { type Folder, folder } from '../support/folder.ts';
import { readProjectFile } from '../support/source.ts';

const KEYSCOPE = 'node_modules/.pnpm/keyscope@1.0.0/node_modules/keyscope';
const ZOD = 'node_modules/.pnpm/zod@4.0.0/node_modules/zod';
const PAGE = readProjectFile('docs/frameworks.md');

const FILES: Readonly<Record<string, string>> = {
  [`${KEYSCOPE}/package.json`]: readProjectFile('package.json'),
  [`${KEYSCOPE}/dist/index.d.ts`]: `
    export interface Keyring { flush(): Promise<void> }
    export declare function createKeyring(): Keyring;`,
  [`${KEYSCOPE}/dist/schemas/index.d.ts`]: `
    import { z } from 'zod';
    export declare const keyInfoSchema: z.ZodType<string>;
    export declare const listInputSchema: z.ZodType<number>;`,
  [`${ZOD}/package.json`]: '{ "name": "zod", "version": "4.0.0", "types": "index.d.ts" }',
  [`${ZOD}/index.d.ts`]: `
    export declare namespace z { class ZodType<T> { parse(value: unknown): T } }`,
};

let project: Folder | undefined;
afterEach(() => {
  project?.remove();
  project = undefined;
});

/** Lays out a project like pnpm. Returns the codes of the compiler's errors in its one file. */
function compile(code: string, options: ts.CompilerOptions, type = 'commonjs'): readonly number[] {
  const own = folder();
  project = own;
  const write = (path: string, text: string): string => {
    mkdirSync(dirname(own.file(path)), { recursive: true });
    writeFileSync(own.file(path), text);
    return own.file(path);
  };
  for (const [path, text] of Object.entries(FILES)) write(path, text);
  symlinkSync(own.file(KEYSCOPE), own.file('node_modules/keyscope'), 'junction');
  symlinkSync(own.file(ZOD), own.file(`${dirname(KEYSCOPE)}/zod`), 'junction');
  write('package.json', JSON.stringify({ type }));
  const file = write('main.ts', code);
  const target = ts.ScriptTarget.ES2022;
  const cheap = { types: [], lib: ['lib.es2015.d.ts'], skipLibCheck: true };
  const given = { strict: true, target, outDir: own.file('out'), ...cheap, ...options };
  const program = ts.createProgram([file], given);
  const declared = program.emit().diagnostics;
  const found = [...ts.getPreEmitDiagnostics(program), ...declared];
  return [...new Set(found.map((each) => each.code))];
}

const { Node16, Node18, NodeNext, ESNext } = ts.ModuleKind;
const STATIC = "import { createKeyring } from 'keyscope'; createKeyring();";
const DYNAMIC = `${/import type \{ Keyring \}[^`]*/.exec(PAGE)?.[0]};
  export async function start(): Promise<Keyring> {
    ${/const \{ createKeyring \}[^`]*/.exec(PAGE)?.[0]};
    return createKeyring();
  }`;

describe('in a CommonJS project', () => {
  test('an import of the package is TS1479 as node16 and node18, and compiles as nodenext', () => {
    expect(compile(STATIC, { module: Node16 })).toEqual([1479]);
    expect(compile(STATIC, { module: Node18 })).toEqual([1479]);
    expect(compile(STATIC, { module: NodeNext })).toEqual([]);
    const moduleResolution = ts.ModuleResolutionKind.Bundler;
    expect(compile(STATIC, { module: ESNext, moduleResolution })).toEqual([]);
  });

  test('the imports that the page prints compile as node16', () => {
    expect(DYNAMIC).not.toContain('undefined');
    expect(compile(DYNAMIC, { module: Node16 })).toEqual([]);
  });
});

describe('a re-exported schema', () => {
  const options = { module: NodeNext, declaration: true };
  const IMPORT = "import { listInputSchema } from 'keyscope/schemas';";

  test('cannot be named if its type is inferred', () => {
    const code = `${IMPORT} export const list = listInputSchema;`;
    expect(compile(code, options, 'module')).toEqual([2883]);
  });

  test('compiles in the ways that the page prints', () => {
    const [, reExport = ''] = /`(export \{ keyInfoSchema \}[^`]*)`/.exec(PAGE) ?? [];
    const [, annotated = ''] = /`(export const list: [^`]*)`/.exec(PAGE) ?? [];
    expect(annotated).not.toBe('');
    expect(compile(`${IMPORT}\n${reExport};\n${annotated};`, options, 'module')).toEqual([]);
  });
});
