/** `keyscope whois` */
import type { Call } from '../call.js';
import { CommandError } from '../command-error.js';
import { fieldsOf } from '../shown-keys.js';
import { printFields } from '../table.js';

/** Tells whose key a string is, whatever its state. The string comes from standard input alone. */
export async function run({ output, terminal, config }: Call): Promise<undefined> {
  // Before anything is opened, because people type slowly.
  const key = await terminal.readSecret('Key (not shown): ');
  const { keyring } = await config();
  const info = await keyring.identify(key);
  if (info === null)
    throw new CommandError('refused', 'This is no key of this keyring, or was mistyped.');
  await printFields(output, info, fieldsOf(info));
}
