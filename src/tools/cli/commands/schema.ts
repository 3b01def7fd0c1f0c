/** `keyscope schema` */
import type { Dialect } from '../../../stores/schema/migrations.js';
import { MIGRATIONS, schemaSql } from '../../../stores/schema/migrations.js';
import type { Call } from '../call.js';
import { usageError } from '../command-error.js';
import { suggest } from '../nearest.js';

const isDialect = (text: string): text is Dialect => Object.hasOwn(MIGRATIONS, text);

/** Prints the schema, for a migration tool of one's own. Asks no database. */
export async function run({ given, output }: Call): Promise<undefined> {
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
  else await output.line(sql.trimEnd());
}
