/** `keyscope schema` and `keyscope migrate`: the tables. */
import { randomUUID } from 'node:crypto';
import { StoreError } from '../../../core/errors.js';
import { within } from '../../../core/thenable.js';
import { type Dialect, MIGRATIONS, schemaSql } from '../../../stores/schema/migrations.js';
import type { Call } from '../call.js';
import { suggest, usageError } from '../command-error.js';
import type { CommandConfig } from '../define-config.js';
import { askVersion } from '../sql.js';

const isDialect = (text: string): text is Dialect => Object.hasOwn(MIGRATIONS, text);

/** Prints the schema, for a migration tool of one's own. Asks no database. */
export async function schema({ given, output }: Call): Promise<undefined> {
  const { operand } = given;
  if (!isDialect(operand)) {
    const dialects = Object.keys(MIGRATIONS);
    const nearest = suggest(operand, dialects);
    throw usageError(`Write one of ${dialects.join(', ')}.${nearest}`);
  }
  const triggers = given.text('triggers') ?? 'yes';
  if (triggers !== 'yes' && triggers !== 'no') throw usageError('--triggers: write yes or no.');
  if (triggers === 'no' && operand === 'sqlite') {
    throw usageError('SQLite has triggers everywhere: leave out --triggers.');
  }
  const sql = schemaSql(operand, triggers === 'no' ? { triggers: false } : {});
  if (output.isJson) await output.json({ dialect: operand, sql });
  else await output.lines(sql);
}

/** Brings the schema to this release, as the config says, or else as the store does by itself. */
export async function migrate(call: Call): Promise<undefined> {
  const { output, interrupts, timeoutMs } = call;
  const config = await call.config();
  const giveUp = (): never => {
    throw new StoreError(`migrate: no answer within ${timeoutMs / 1_000} s`);
  };
  const version = await interrupts.change(() => within(timeoutMs, migrated(config), giveUp));
  const shown = version === null ? 'as this release needs it' : `version ${version}`;
  await (output.isJson ? output.json({ version }) : output.line(`The schema is ${shown}.`));
}

/** The version that the schema has now; null where nobody can tell. */
async function migrated(config: CommandConfig): Promise<number | null> {
  try {
    await config.migrate?.();
    // Every store creates what is missing before its first look-up.
    await config.store.findById(randomUUID(), { fresh: true });
    return config.sql === undefined ? null : (await askVersion(config.sql)).version;
  } catch (cause) {
    throw new StoreError('The database cannot be migrated', cause);
  }
}
