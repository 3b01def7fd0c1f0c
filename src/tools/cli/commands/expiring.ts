/** `keyscope expiring` */
import {
  type ExpiringKey,
  expiringKeys,
  type UnreadableKey,
} from '../../../reports/expiring-keys.js';
import { type Call, configWithKeys } from '../call.js';
import { CommandError, usageError } from '../command-error.js';
import { readSpan } from '../options.js';
import { endOf, shownDay, shownKey } from '../shown-keys.js';
import { type Column, NO_KEYS, tablePrinter } from '../table.js';

type Row = ExpiringKey | UnreadableKey;

const isRead = (key: Row): key is ExpiringKey => 'name' in key;

const COLUMNS: readonly Column<Row>[] = [
  { title: 'KEY ID', cell: ({ keyId }) => keyId },
  { title: 'KEY', cell: (key) => (isRead(key) ? shownKey(key) : key.state) },
  { title: 'EXPIRES', cell: (key) => (isRead(key) ? shownDay(endOf(key), '') : '') },
  { title: 'LAST USED', cell: (key) => (isRead(key) ? shownDay(key.lastUsedAt, 'not known') : '') },
  { title: 'ORGANIZATION', cell: ({ entityId }) => entityId },
  { title: 'NAME', cell: (key) => (isRead(key) ? key.name : ''), atLeast: 8 },
];

/** Lists the keys that expire soon, of all organizations and prefixes in the store. */
export async function run(call: Call): Promise<undefined> {
  const { given, output, timeoutMs } = call;
  const span = readSpan(given.text('within') ?? '14d', 'within');
  if (span === 0) throw usageError('--within takes a time ahead, such as 14d.');
  const { store } = await configWithKeys(call);
  if (store.listExpiring === undefined) {
    const missing = 'it has no `listExpiring`';
    throw new CommandError('refused', `This store cannot find expiring keys: ${missing}.`);
  }
  const before = new Date(Date.now() + span);
  const keys = await expiringKeys(store, { before, timeoutMs });
  await tablePrinter(output, COLUMNS)(keys);
  if (keys.length === 0) output.say(NO_KEYS);
}
