/** A client generated from an OpenAPI document, compiled together with code that uses it. */
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';

const OPTIONS: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  allowImportingTsExtensions: true,
  types: [],
  lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
};

/**
 * Writes the types of a document and the code that uses them into an empty folder.
 *
 * @returns The compiler's errors, and the file to import.
 */
export async function compileClient(
  folder: string,
  document: object,
  code: string,
): Promise<{ readonly problems: readonly string[]; readonly file: string }> {
  const file = join(folder, 'use.ts');
  writeFileSync(join(folder, 'api.ts'), astToString(await openapiTS(document as never)));
  writeFileSync(file, code);
  symlinkSync(
    new URL('../../node_modules', import.meta.url).pathname,
    join(folder, 'node_modules'),
  );
  const program = ts.createProgram([file], OPTIONS);
  const problems = ts.getPreEmitDiagnostics(program).map(({ messageText, file, start = 0 }) => {
    const line = file?.text.slice(start).split('\n', 1)[0] ?? '';
    return `${ts.flattenDiagnosticMessageText(messageText, '\n')}: ${line}`;
  });
  return { problems, file };
}
