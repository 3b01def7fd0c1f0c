/** `keyscope unused` */
import { unusedScopes } from '../../../reports/unused-scopes.js';
import { authorityOf, type Call, configWithKeyring } from '../call.js';
import { usageError } from '../command-error.js';
import { readSpan } from '../options.js';
import { pagesOf, type ShownKey, shownDay, shownKey } from '../shown-keys.js';
import { type Column, NO_KEYS, tablePrinter } from '../table.js';

/** A live key and its unused scopes. */
interface Row {
  readonly keyId: string;
  readonly prefix: string;
  readonly hint: string;
  readonly name: string;
  readonly entityId: string;
  readonly lastUsedAt: Date | null;
  /** Null if its use is not known. */
  readonly unusedScopes: readonly string[] | null;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'KEY ID', cell: ({ keyId }) => keyId },
  { title: 'KEY', cell: shownKey },
  {
    title: 'UNUSED SCOPES',
    cell: (row) => row.unusedScopes?.join(' ') ?? 'not known',
    style: (row) => (row.unusedScopes === null ? 'dim' : null),
    atLeast: 13,
  },
  { title: 'LAST USED', cell: ({ lastUsedAt }) => shownDay(lastUsedAt, 'not known') },
  { title: 'NAME', cell: ({ name }) => name, atLeast: 8 },
];

/** Lists the live keys with their unused scopes. Unknown usage does not count as unused. */
export async function run(call: Call): Promise<undefined> {
  const { given, output } = call;
  const authority = authorityOf(call);
  const unusedForMs = readSpan(given.text('for') ?? '90d', 'for');
  if (unusedForMs === 0) throw usageError('--for takes a time, such as 90d.');
  const { keyring } = await configWithKeyring(call);
  const print = tablePrinter(output, COLUMNS);
  let count = 0;
  for await (const keys of pagesOf(keyring, authority)) {
    const rows = keys.flatMap((key) => rowOf(key, unusedForMs));
    await print(rows);
    count += rows.length;
  }
  if (count === 0) output.say(NO_KEYS);
}

function rowOf(key: ShownKey, unusedForMs: number): readonly Row[] {
  if (!('lastUsedAt' in key) || key.state !== 'live') return [];
  const { keyId, prefix, hint, name, entityId, lastUsedAt } = key;
  const unused = unusedScopes(key, { unusedForMs });
  const scopes = unused.known ? unused.scopes : null;
  return [{ keyId, prefix, hint, name, entityId, lastUsedAt, unusedScopes: scopes }];
}
