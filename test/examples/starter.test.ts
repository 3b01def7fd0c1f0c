/** The files that `keyscope init` writes, compiled in a project. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { DATABASES, FRAMEWORKS, starterFiles } from '../../src/tools/cli/starter.js';
import { folder } from '../support/folder.ts';
import { ROOT } from '../support/source.ts';

describe('keyscope init', () => {
  it('writes files that compile, for every framework and database', () => {
    const own = folder();
    try {
      symlinkSync(join(ROOT, 'node_modules'), own.file('node_modules'));
      const names: string[] = [];
      const frameworks = Object.keys(FRAMEWORKS);
      for (const [index, database] of Object.keys(DATABASES).entries()) {
        const framework = frameworks[index % frameworks.length] ?? '';
        const files = starterFiles({ framework, database, prefix: 'acme', ending: 'ts' });
        mkdirSync(own.file(`${database}/keyscope`), { recursive: true });
        for (const [path, text] of files) {
          writeFileSync(own.file(`${database}/${path}`), text);
          names.push(own.file(`${database}/${path}`));
        }
      }
      writeFileSync(own.file('package.json'), '{ "type": "module" }');
      const program = ts.createProgram(names, {
        module: ts.ModuleKind.NodeNext,
        target: ts.ScriptTarget.ES2023,
        lib: ['lib.es2024.d.ts'],
        strict: true,
        noEmit: true,
        skipLibCheck: true,
        allowImportingTsExtensions: true,
        types: ['node'],
        typeRoots: [join(ROOT, 'node_modules/@types')],
        paths: {
          '#noble': [join(ROOT, 'src/native/noble.ts')],
          keyscope: [join(ROOT, 'src/index.ts')],
          'keyscope/cli': [join(ROOT, 'src/tools/cli/index.ts')],
          'keyscope/*': [join(ROOT, 'src/*/index.ts')],
        },
      });
      const errors = ts.getPreEmitDiagnostics(program).map(({ messageText, file, start }) => {
        const text = ts.flattenDiagnosticMessageText(messageText, ' ');
        return `${file?.fileName}:${start}: ${text}`;
      });
      expect(errors).toEqual([]);
      // Two of each, and two more with a framework.
      expect(names.length).toBe(14);
    } finally {
      own.remove();
    }
  });
});
