/** Secrets that need no setup: the first run creates them in files next to the database. */
import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Returns the content of the file, and creates the file if it is missing. Processes that start at
 * the same time all get the same secret: the file appears complete, and the first one wins.
 */
export async function readSecret(
  file: string,
  make: () => string | Promise<string>,
): Promise<string> {
  if (!existsSync(file)) {
    const draft = `${file}.${randomUUID()}`;
    try {
      writeFileSync(draft, await make(), { mode: 0o600, flag: 'wx' });
      linkSync(draft, file);
    } catch (error) {
      if ((error as { code?: string }).code !== 'EEXIST') throw error;
    } finally {
      rmSync(draft, { force: true });
    }
  }
  return readFileSync(file, 'utf8');
}
