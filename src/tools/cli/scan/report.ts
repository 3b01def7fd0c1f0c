/** Prints finds as lines or as JSON. Never prints a key. */
import type { Output } from '../output.js';
import { shownKey } from '../shown-keys.js';
import type { Found } from './files.js';
import type { Known } from './known-keys.js';
import { withoutKeys } from './scanner.js';

/** Returns a function that prints a find, with the key in the keyring if it was looked up. */
export function findPrinter(
  output: Output,
  prefixes: readonly string[],
): (found: Found, known: Known | undefined) => Promise<void> {
  return async (found, known) => {
    const { line, prefix, hint, checksum } = found;
    const path = withoutKeys(found.path, prefixes);
    if (output.isJson) {
      const shown = { path, line, prefix, hint, checksum };
      await output.json(known === undefined ? shown : { ...shown, known: knownFields(known) });
      return;
    }
    const isKey = checksum === 'right';
    const key = { style: isKey ? 'strong' : 'dim', text: shownKey({ prefix, hint }) } as const;
    const said = isKey ? 'checksum right' : 'checksum wrong: not a key';
    const owner = known === undefined ? '' : `; ${shownKnown(known)}`;
    await output.line(`${path}:${line}: `, key, ` ${said}${owner}`);
  };
}

/** Describes a key in the keyring. */
function shownKnown(known: Known): string {
  if (known === null) return 'unknown to the keyring';
  const name = 'name' in known ? ` “${known.name}”` : '';
  return `${known.state}, key id ${known.keyId}, entity ${known.entityId}${name}`;
}

function knownFields(known: Known) {
  if (known === null) return null;
  const { keyId, entityId, state } = known;
  return { keyId, entityId, state, name: 'name' in known ? known.name : null };
}
