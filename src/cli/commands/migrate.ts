/** `keyscope migrate` */
import { randomUUID } from 'node:crypto';
import { StoreError } from '../../core/errors.js';
import type { Call } from '../call.js';
import { KNOWN_VERSION } from '../database.js';
import type { CommandConfig } from '../define-config.js';
import { databaseOf } from '../open-database.js';
import { within } from '../within.js';

/** Brings the schema to this release. Without `database` in the config, the store does so. */
export async function run(call: Call): Promise<undefined> {
  const { output, interrupts, timeoutMs } = call;
  const config = await call.config();
  const tooLate = () => new StoreError(`migrate: no answer within ${timeoutMs / 1_000} s`);
  const version = await interrupts.change(() => within(migrate(config), timeoutMs, tooLate));
  const shown = version === null ? 'as the store needs it' : `version ${version}`;
  if (output.isJson) await output.json({ version });
  else await output.line(`The schema is ${shown}; this release knows version ${KNOWN_VERSION}.`);
}

/** The version that the schema has now; null where nobody can tell. */
async function migrate({ database, store }: CommandConfig): Promise<number | null> {
  try {
    if (database === undefined) {
      // Every store creates what it needs before its first look-up.
      await store.findById(randomUUID(), { fresh: true });
      return null;
    }
    const asked = await databaseOf(database);
    await asked.migrate();
    return (await asked.version()).version;
  } catch (cause) {
    throw new StoreError('The database cannot be migrated', cause);
  }
}
