/** `keyscope rules` */
import { type Call, prefixesOf, readPrefixes } from '../call.js';
import { suggest, usageError } from '../command-error.js';
import { isScanner, RULES } from '../scanner-rules.js';

/** Prints rules for a scanner of others. Asks nobody. */
export async function run({ given, output, config }: Call): Promise<undefined> {
  const { operand } = given;
  if (!isScanner(operand)) {
    const names = Object.keys(RULES);
    throw usageError(`Write one of ${names.join(', ')}.${suggest(operand, names)}`);
  }
  const prefixes = readPrefixes(given) ?? prefixesOf(await config());
  const rules = RULES[operand](prefixes);
  if (output.isJson) await output.json({ scanner: operand, rules });
  else await output.line(rules.trimEnd());
}
