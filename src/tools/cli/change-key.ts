/** Changes one key: shows which, asks if it ends, and prints what became of it. */
import type { Authority } from '../../management/authority.js';
import type { Keyring } from '../../management/keyring.js';
import { authorityOf, type Call, keyIdOf } from './call.js';
import { requireKey } from './require-key.js';
import { KEY_COLUMNS, type ShownKey } from './shown-keys.js';
import { tablePrinter } from './table.js';

/** A call of the keyring. */
type Change = (keyring: Keyring, keyId: string, authority: Authority) => Promise<unknown>;

/**
 * Carries a change out, once whoever sits there agrees.
 *
 * @param question From how the key is shown; null where nothing is asked.
 */
export async function changeKey(
  call: Call,
  question: ((shown: string) => string) | null,
  change: Change,
): Promise<void> {
  const { given, output, terminal, interrupts } = call;
  const keyId = keyIdOf(call);
  const authority = authorityOf(call);
  const { keyring } = await call.config();
  const { shown } = await requireKey(keyring, keyId, authority);
  if (question !== null) await terminal.confirm(question(shown), given.flag('yes'));
  await interrupts.change(() => change(keyring, keyId, authority));
  const { info } = await requireKey(keyring, keyId, authority);
  await tablePrinter<ShownKey>(output, KEY_COLUMNS)([info]);
}
