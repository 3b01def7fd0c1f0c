/** `keyscope list`, `show`, `whois`, `suspend` and `resume`: existing keys. */
import type { KeyState } from '../../../core/record.js';
import type { Authority } from '../../../management/authority.js';
import type { Keyring } from '../../../management/keyring.js';
import { authorityOf, type Call, configWithKeyring, keyIdOf, whoOf } from '../call.js';
import { CommandError } from '../command-error.js';
import { readCount } from '../options.js';
import { createProgress } from '../progress.js';
import { readSelection, selectedKeys } from '../selection.js';
import {
  ALL_KEY_COLUMNS,
  fieldsOf,
  KEY_COLUMNS,
  OTHER_SECRETS,
  requireKey,
  type ShownKey,
} from '../shown-keys.js';
import { NO_KEYS, printFields, tablePrinter } from '../table.js';

/** Lists keys, the newest of each organization first. */
export async function list(call: Call): Promise<undefined> {
  const { given, output } = call;
  const selection = readSelection(call);
  const limit = given.text('limit');
  let left = limit === undefined ? Number.POSITIVE_INFINITY : readCount(limit, 'limit');
  const config = await configWithKeyring(call);
  const columns = selection.authority === null ? ALL_KEY_COLUMNS : KEY_COLUMNS;
  const print = tablePrinter<ShownKey>(output, columns);
  const states = new Set<KeyState>();
  for await (const keys of selectedKeys(config, selection, createProgress(output))) {
    const shown = keys.slice(0, left);
    for (const { state } of shown) states.add(state);
    await print(shown);
    left -= keys.length;
    if (left <= 0) break;
  }
  if (states.size === 0) output.say(NO_KEYS);
  // A revocation without a seal can be read under any pepper.
  states.delete('revoked');
  const areBroken = states.size > 0 && [...states].every((state) => BROKEN.includes(state));
  if (areBroken && selection.states === null) {
    output.say(`Every key shown is damaged or orphaned. Unless rows were edited: ${OTHER_SECRETS}`);
  }
}

const BROKEN: readonly KeyState[] = ['damaged', 'orphaned'];

/** Shows one key of the organization. */
export async function show(call: Call): Promise<undefined> {
  const { output } = call;
  const keyId = keyIdOf(call);
  const authority = authorityOf(call);
  const { keyring } = await configWithKeyring(call);
  const { info } = await requireKey(keyring, keyId, authority);
  await printFields(output, info, fieldsOf(info));
}

/** Finds the key that a string is, in any state. Reads the string from standard input only. */
export async function whois(call: Call): Promise<undefined> {
  const { output, terminal } = call;
  const who = whoOf(call);
  // Before the config opens connections, because people type slowly.
  const key = await terminal.readSecret('Key (not shown): ');
  const { keyring } = await configWithKeyring(call);
  const info = await keyring.identify(key, who);
  if (info === null) {
    throw new CommandError('refused', 'This keyring does not know the key. Check for typos.');
  }
  await printFields(output, info, fieldsOf(info));
}

/** Suspends a key until it is resumed. */
export async function suspend(call: Call): Promise<undefined> {
  const question = (shown: string) => `Suspend ${shown}?`;
  await changeKey(call, question, (keyring, ...key) => keyring.suspend(...key));
}

/** Ends a suspension. Does not ask, because you can suspend the key again. */
export async function resume(call: Call): Promise<undefined> {
  await changeKey(call, null, (keyring, ...key) => keyring.resume(...key));
}

/** A method of the keyring. */
type Change = (keyring: Keyring, keyId: string, authority: Authority) => Promise<unknown>;

/**
 * Changes one key: asks first if `question` is given, and prints the key afterwards.
 *
 * @param question Makes the question from the key's description; null to not ask.
 */
export async function changeKey(
  call: Call,
  question: ((shown: string) => string) | null,
  change: Change,
): Promise<void> {
  const { given, output, terminal, interrupts } = call;
  const keyId = keyIdOf(call);
  const authority = authorityOf(call);
  const { keyring } = await configWithKeyring(call);
  const { shown } = await requireKey(keyring, keyId, authority);
  if (question !== null) await terminal.confirm(question(shown), given.flag('yes'));
  await interrupts.change(() => change(keyring, keyId, authority));
  const { info } = await requireKey(keyring, keyId, authority);
  await tablePrinter<ShownKey>(output, KEY_COLUMNS)([info]);
}
