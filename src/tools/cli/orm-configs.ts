/**
 * Finds the configs of tools that make a database match a schema, and drop the tables that it
 * lacks. Reads texts, and runs nothing.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Such as `drizzle.config.ts`, `drizzle.test.config.ts` and `prisma/schema.prisma`. */
const CONFIG = /^(?:drizzle.*\.config\.\w+|prisma\.config\.\w+|(?:prisma\/)?schema\.prisma)$/;

/** Comments, line by line. In an address, there is no white space before `//`. */
const COMMENT = /(?:^|\s)(?:\/[/*]|\*).*/gm;

const PRISMA =
  'prisma db push and migrate dev drop every key: add experimental: { externalTables: true }, ' +
  "tables: { external: ['public.keyscope_keys', 'public.keyscope_addressing', " +
  "'public.keyscope_schema'] } to prisma.config.ts. If keyscope has a database of its own, write " +
  'so in a comment there that names keyscope_keys';

/**
 * Returns what to add to which file.
 *
 * Not checked: which database and schema a tool works on, and which tables a filter names.
 */
export async function missingLines(folder: string): Promise<readonly string[]> {
  const missing: string[] = [];
  const prisma: string[] = [];
  for (const name of [...(await readdir(folder)), 'prisma/schema.prisma']) {
    const path = join(folder, name);
    if (!CONFIG.test(name) || !existsSync(path)) continue;
    const text = await readFile(path, 'utf8');
    const hasFilter = text.replace(COMMENT, '').includes('tablesFilter');
    if (!name.startsWith('drizzle')) prisma.push(text);
    else if (!hasFilter) {
      missing.push(
        `drizzle-kit push drops every key: add tablesFilter: ['!keyscope_*'], to ${name}`,
      );
    }
  }
  const isSpared = prisma.length === 0 || prisma.join('\n').includes('keyscope_keys');
  return isSpared ? missing : [...missing, PRISMA];
}
