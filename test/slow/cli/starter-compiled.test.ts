/** The files that `keyscope init` writes, as a project compiles them. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { starterFiles } from '../../../src/tools/cli/starter.js';
import { DATABASES, FRAMEWORKS } from '../../../src/tools/cli/starter-parts.js';
import { folder } from '../../support/folder.ts';
import { ROOT } from '../../support/source.ts';

/** The options that a fresh `tsc --init` writes, and where the source of keyscope is. */
function optionsIn(path: string): ts.CompilerOptions {
  spawnSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '--init'], {
    cwd: path,
  });
  const file = join(path, 'tsconfig.json');
  const { config } = ts.readConfigFile(file, (name) => ts.sys.readFile(name)) as {
    readonly config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, path);
  return {
    ...options,
    noEmit: true,
    typeRoots: [join(ROOT, 'node_modules/@types')],
    paths: {
      '#noble': [join(ROOT, 'src/native/noble.ts')],
      keyscope: [join(ROOT, 'src/index.ts')],
      'keyscope/lock': [join(ROOT, 'src/tools/lock/index.ts')],
      'keyscope/cli': [join(ROOT, 'src/tools/cli/index.ts')],
      'keyscope/*': [join(ROOT, 'src/*/index.ts')],
    },
  };
}

describe('the files that keyscope init writes', () => {
  it('compile under a fresh tsc --init, for every framework and every database', () => {
    const own = folder();
    try {
      symlinkSync(join(ROOT, 'node_modules'), own.file('node_modules'));
      const names: string[] = [];
      // Those with a server, and none. The files for Nest are in test/frameworks.
      const frameworks = Object.keys(FRAMEWORKS).filter((name) => {
        const { adapter, server } = FRAMEWORKS[name] ?? {};
        return server !== undefined || adapter === undefined;
      });
      const project = { prefix: 'acme', ending: '.ts' } as const;
      for (const [index, database] of Object.keys(DATABASES).entries()) {
        const framework = frameworks[index % frameworks.length] ?? '';
        const files = starterFiles({ framework, database, ...project });
        mkdirSync(own.file(`${database}/keyscope`), { recursive: true });
        for (const [path, text] of files) {
          writeFileSync(own.file(`${database}/${path}`), text);
          names.push(own.file(`${database}/${path}`));
        }
      }
      writeFileSync(own.file('package.json'), '{ "type": "module" }');
      const program = ts.createProgram(names, optionsIn(own.file('')));
      const errors = ts.getPreEmitDiagnostics(program).map(({ messageText, file, start }) => {
        const text = ts.flattenDiagnosticMessageText(messageText, ' ');
        return `${file?.fileName}:${start}: ${text}`;
      });
      expect(errors).toEqual([]);
      // Not by losing the types: an import that is not resolved would be of type `any`.
      const config = program.getSourceFile(own.file('postgres/keyscope.config.ts'));
      const [keyring] = config?.statements.filter(ts.isExportAssignment) ?? [];
      const type = keyring && program.getTypeChecker().getTypeAtLocation(keyring.expression);
      expect(type?.getProperty('keyring')).toBeDefined();
      // Two of each, and three more where there is a framework.
      expect(names.length).toBe(17);
    } finally {
      own.remove();
    }
  });
});
