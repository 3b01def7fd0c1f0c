/** `keyscope revoke`: one key, or every key that the options select. */
import { ENDED } from '../../../management/ended.js';
import { type Call, configWithKeyring } from '../call.js';
import { CommandError, usageError } from '../command-error.js';
import { endKeys } from '../end-keys.js';
import { createProgress } from '../progress.js';
import { readSelection, type Selection, selectedKeys } from '../selection.js';
import { ALL_KEY_COLUMNS, requireKey, type ShownKey, shownInQuestion } from '../shown-keys.js';
import { tablePrinter } from '../table.js';
import { changeKey } from './keys.js';

/** Revokes keys, or with `--lineage` also their rotations and the keys issued under them. */
export async function run(call: Call): Promise<undefined> {
  const { given } = call;
  // Never by `--entity` alone: with a key id that is empty by mistake, it would end all keys.
  const isSelecting = given.text('created-by') !== undefined || given.text('state') !== undefined;
  if (given.operand === '' && !isSelecting) {
    throw usageError('Write a key id, or select keys with --created-by or --state.');
  }
  if (given.operand !== '' && isSelecting) {
    throw usageError('Write a key id, or --created-by and --state, not both.');
  }
  if (isSelecting) return revokeSelected(call, readSelection(call));
  if (given.text('entity') === undefined) {
    throw usageError('keyscope revoke <key id> needs --entity <id>.');
  }
  const question = (shown: string) => questionFor(call, shown, 'its');
  await changeKey(call, question, (keyring, keyId, { entityId, ...who }) =>
    endKeys(call, keyring, [{ keyId, entityId }], who),
  );
}

function questionFor({ given }: Call, shown: string, whose: string): string {
  return `Revoke ${shown}${given.flag('lineage') ? ` and ${whose} lineage` : ''}, for good?`;
}

/** Shows the keys, asks once, and revokes them. Without `--state`, skips keys that have ended. */
async function revokeSelected(call: Call, selection: Selection): Promise<undefined> {
  const { given, output, terminal, interrupts } = call;
  const config = await configWithKeyring(call);
  const { keyring } = config;
  const found: ShownKey[] = [];
  for await (const keys of selectedKeys(config, selection, createProgress(output))) {
    found.push(...keys.filter(({ state }) => selection.states !== null || !ENDED.includes(state)));
  }
  if (found.length === 0) throw new CommandError('refused', 'No key matches. Nothing was changed.');
  for (const key of found) output.say(shownLine(key));
  const shown = found.length === 1 ? 'this key' : `these ${found.length} keys`;
  const whose = found.length === 1 ? 'its' : 'their';
  await terminal.confirm(questionFor(call, shown, whose), given.flag('yes'));
  const print = tablePrinter<ShownKey>(output, ALL_KEY_COLUMNS);
  // As one change: after a signal, the rest is revoked as well.
  await interrupts.change(() =>
    endKeys(call, keyring, found, selection.who, async ({ keyId }, authority) => {
      const { info } = await requireKey(keyring, keyId, authority);
      await print([info]);
    }),
  );
}

function shownLine(key: ShownKey): string {
  return `${shownInQuestion(key)}, key id ${key.keyId}, organization ${key.entityId}`;
}
