/** Which configs let a tool drop the tables of keyscope, by their text. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { missingLines } from '../../../src/tools/cli/orm-configs.js';
import { folder } from '../../support/folder.ts';
import { readProjectFile } from '../../support/source.ts';

/** Returns what is missing in a folder with these files. */
function missingIn(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const own = folder();
  onTestFinished(own.remove);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(own.file(name)), { recursive: true });
    writeFileSync(own.file(name), text);
  }
  return missingLines(own.file(''));
}

const DRIZZLE = readProjectFile('examples/more/drizzle/drizzle.config.ts');
const URL = "export default { dbCredentials: { url: 'postgres://x//y' }, ";
const ADD = "drizzle-kit push drops every key: add tablesFilter: ['!keyscope_*'], to ";

it.each([
  ['no such file', {}],
  ['the example for Drizzle', { 'drizzle.config.ts': DRIZZLE }],
  ['a filter after an address', { 'drizzle.config.ts': `${URL} tablesFilter: ['a'] };` }],
  ['a config of something else', { 'keyscope.config.ts': '', 'my-drizzle.config.ts': '' }],
  [
    'external tables of Prisma',
    {
      'prisma/schema.prisma': 'model A {}',
      'prisma.config.ts': "tables: { external: ['public.keyscope_keys'] }",
    },
  ],
  ['a comment for Prisma', { 'schema.prisma': '// keyscope_keys is in another database' }],
])('misses nothing in %s', async (_, files) => {
  expect(await missingIn(files)).toEqual([]);
});

it.each([
  ['no filter', 'drizzle.config.ts', DRIZZLE.replace(/.*tablesFilter.*/, '')],
  ['a filter in a comment', 'drizzle.config.ts', "// tablesFilter: ['!keyscope_*'],"],
  ['a filter after a comment', 'drizzle.config.js', "schema: './s', // tablesFilter: ['!k*'],"],
  ['a filter in a block', 'drizzle.config.json', "/* tablesFilter: ['!k*'], */"],
  ['a filter in a long block', 'drizzle.config.mts', "/**\n * tablesFilter: ['!k*'],\n */"],
  ['a second config', 'drizzle.test.config.ts', 'export default {};'],
])('names the file and the line to add to a config for Drizzle with %s', async (_, name, text) => {
  expect(await missingIn({ 'drizzle.x.config.ts': DRIZZLE, [name]: text })).toEqual([ADD + name]);
});

it.each(['prisma/schema.prisma', 'schema.prisma', 'prisma.config.ts'])(
  'says what to add if %s does not name the tables',
  async (name) => {
    const [said = '', ...more] = await missingIn({ [name]: 'datasource db {}' });
    expect(said).toContain("tables: { external: ['public.keyscope_keys', 'public.keyscope_addr");
    expect(said).toContain('to prisma.config.ts. If keyscope has a database of its own, write so');
    expect(more).toEqual([]);
  },
);
