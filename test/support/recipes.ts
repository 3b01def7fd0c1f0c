/** Writes the code of a documentation page to files that can be compiled and imported. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { readProjectFile } from './source.ts';

const ROOT = new URL('../..', import.meta.url).pathname;

/** The blocks of a page whose first line is a comment with a file name. */
export interface Recipes {
  /** The names of the files. */
  readonly names: readonly string[];
  /** The compiler's errors under this project's rules. */
  complaints(): readonly string[];
  /** Imports a file. */
  load(name: string): Promise<unknown>;
  remove(): void;
}

/**
 * Writes them to `blocks` in `folder`, from where its packages are found.
 *
 * @param page The page's path in the project.
 * @param folder The folder's path in the project. Its `blocks` must have no other use.
 * @param wanted Write only these files. By default, write them all; every block must have a name.
 * @param beside Files that users copy next to the recipe: their names, and their paths in the
 *   project. They import nothing by a path.
 */
export function writeRecipes(
  page: string,
  folder: string,
  wanted?: readonly [string, ...string[]],
  beside: Readonly<Record<string, string>> = {},
): Recipes {
  const shared = join(ROOT, folder, 'blocks');
  // Several tests may write a few files each, at the same time.
  const blocks = wanted === undefined ? shared : join(shared, crypto.randomUUID());
  const texts = new Map<string, string>();
  for (const [, text = ''] of readProjectFile(page).matchAll(/^```ts\n([\s\S]*?)^```/gm)) {
    const name = /^\/\/ (\w+\.ts)\n/.exec(text)?.[1];
    if (wanted === undefined && name === undefined) {
      throw new Error(`${page}: a block has no file name`);
    }
    if (name !== undefined && (wanted?.includes(name) ?? true)) texts.set(name, text);
  }
  rmSync(blocks, { recursive: true, force: true });
  mkdirSync(blocks, { recursive: true });
  for (const [name, text] of texts) writeFileSync(join(blocks, name), text);
  for (const [name, path] of Object.entries(beside)) {
    writeFileSync(join(blocks, name), readProjectFile(path));
  }
  const paths = [...texts.keys(), ...Object.keys(beside)].map((name) => join(blocks, name));

  return {
    names: [...texts.keys()],
    complaints: () => compile(paths),
    load: (name) => import(join(blocks, name)),
    remove: () => rmSync(blocks, { recursive: true, force: true }),
  };
}

function compile(paths: readonly string[]): readonly string[] {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile) as {
    readonly config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const program = ts.createProgram(paths, options);
  return ts.getPreEmitDiagnostics(program).map(({ messageText, file }) => {
    const text = ts.flattenDiagnosticMessageText(messageText, '\n');
    return `${file?.fileName ?? ''}: ${text}`;
  });
}
