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

/** Prints the schema for your own migration tool. Queries no database. */
export async function schema({ given, output }: Call): Promise<undefined> {
  const { operand } = given;
  if (!isDialect(operand)) {
    const dialects = Object.keys(MIGRATIONS);
    const nearest = suggest(operand, dialects);
    throw usageError(`Unknown dialect. Use ${dialects.join(', ')}.${nearest}`);
  }
  const triggers = given.text('triggers') ?? 'yes';
  if (triggers !== 'yes' && triggers !== 'no') throw usageError('--triggers takes yes or no.');
  if (triggers === 'no' && operand !== 'mysql') {
    throw usageError('--triggers no is only for mysql. Remove --triggers.');
  }
  const sql = triggers === 'no' ? schemaSql('mysql', { triggers: false }) : schemaSql(operand);
  if (output.isJson) await output.json({ dialect: operand, sql });
  else await output.lines(sql);
}

/** Upgrades the schema with `migrate` of the config, or else through the store. */
export async function migrate(call: Call): Promise<undefined> {
  const { output, interrupts, timeoutMs } = call;
  const config = await call.config();
  const giveUp = (): never => {
    throw new StoreError(`migrate: no answer within ${timeoutMs / 1_000} s`);
  };
  const version = await interrupts.change(() => within(timeoutMs, migrated(config), giveUp));
  const shown = version === null ? 'up to date' : `at version ${version}`;
  await (output.isJson ? output.json({ version }) : output.line(`The schema is ${shown}.`));
}

/** Migrates and returns the version of the schema; null if it is unknown. */
async function migrated(config: CommandConfig): Promise<number | null> {
  try {
    await config.migrate?.();
    // Every store creates missing tables before its first look-up.
    await config.store.findById(randomUUID(), { fresh: true });
    return config.sql === undefined ? null : (await askVersion(config.sql)).version;
  } catch (cause) {
    throw new StoreError('Cannot migrate the database', cause);
  }
}
