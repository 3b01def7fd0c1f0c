/** The pepper of the platform's keys, a secret that is not in the database. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Pepper } from 'keyscope';
import { readSecret } from './secret-file.ts';
import { shownPath } from './whereabouts.ts';

export interface FoundPeppers {
  readonly peppers: readonly Pepper[];
  /** Their source, in words. */
  readonly source: string;
}

const generate = (): string => randomBytes(32).toString('base64url');

/**
 * Reads the pepper from the environment, as in production. Otherwise it reads a file, which the
 * first run creates so that the demo needs no setup. With both, keys made under either one work.
 */
export async function readPeppers(folder: string): Promise<FoundPeppers> {
  const file = join(folder, 'pepper');
  const { PEPPER: given } = process.env;
  if (!given) {
    const secret = await readSecret(file, generate);
    return { peppers: [{ id: 'file', secret }], source: shownPath(file) };
  }
  const fromEnvironment = { id: 'env', secret: given };
  const source = 'the environment variable PEPPER';
  if (!existsSync(file)) return { peppers: [fromEnvironment], source };
  const fromFile = { id: 'file', secret: await readSecret(file, generate) };
  return {
    peppers: [fromEnvironment, fromFile],
    source: `${source}, and ${shownPath(file)} for keys made under it`,
  };
}
