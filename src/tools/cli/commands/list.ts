/** `keyscope list` */
import { authorityOf, type Call } from '../call.js';
import { pagesOf } from '../pages.js';
import { KEY_COLUMNS, type ShownKey } from '../shown-keys.js';
import { tablePrinter } from '../table.js';
import { readCount } from '../values.js';

/** Lists keys, newest first. */
export async function run(call: Call): Promise<undefined> {
  const { given, output } = call;
  const authority = authorityOf(call);
  const limit = given.text('limit');
  const most = limit === undefined ? undefined : readCount(limit, 'limit');
  const { keyring } = await call.config();
  const print = tablePrinter<ShownKey>(output, KEY_COLUMNS);
  const pages = pagesOf(keyring, authority, given.flag('addressing'), most);
  for await (const keys of pages) await print(keys);
}
