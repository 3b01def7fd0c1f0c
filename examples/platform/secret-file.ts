/** Secrets that a newcomer need not set up: made on the first run, and kept beside the database. */
import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/**
 * What is in the file, which is made where it is missing. Processes that start at once all get the same: the file is
 * there whole or not at all, and who comes second takes what it finds.
 */
export async function readSecret(file: string, make: () => string | Promise<string>): Promise<string> {
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
