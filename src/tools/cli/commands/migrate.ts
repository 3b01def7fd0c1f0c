/** `keyscope migrate` */
import { randomUUID } from 'node:crypto';
import { StoreError } from '../../../core/errors.js';
import { within } from '../../../core/thenable.js';
import type { Call } from '../call.js';
import type { CommandConfig } from '../define-config.js';
import { askVersion } from '../sql.js';

/** Brings the schema to this release, as the config says, or else as the store does by itself. */
export async function run(call: Call): Promise<undefined> {
  const { output, interrupts, timeoutMs } = call;
  const config = await call.config();
  const giveUp = (): never => {
    throw new StoreError(`migrate: no answer within ${timeoutMs / 1_000} s`);
  };
  const version = await interrupts.change(() => within(timeoutMs, migrate(config), giveUp));
  const shown = version === null ? 'as this release needs it' : `version ${version}`;
  await (output.isJson ? output.json({ version }) : output.line(`The schema is ${shown}.`));
}

/** The version that the schema has now; null where nobody can tell. */
async function migrate(config: CommandConfig): Promise<number | null> {
  try {
    await config.migrate?.();
    // Every store creates what is missing before its first look-up.
    await config.store.findById(randomUUID(), { fresh: true });
    return config.sql === undefined ? null : (await askVersion(config.sql)).version;
  } catch (cause) {
    throw new StoreError('The database cannot be migrated', cause);
  }
}
