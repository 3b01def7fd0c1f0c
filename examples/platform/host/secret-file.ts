/** Secrets that newcomers need not set up: made on the first run, and kept beside the database. */
import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/**
 * The content of the file, which is made if it is missing. Processes that start at once all get the
 * same: the file is there in full or not at all, and later ones use what they find.
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
