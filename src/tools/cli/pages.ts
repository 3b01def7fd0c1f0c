/** Goes through an organization's keys page by page: however many there are, one is in memory. */
import type { Authority } from '../../management/authority.js';
import type { Keyring } from '../../management/keyring.js';
import type { ListInput, ListPage } from '../../management/list.js';
import type { ShownKey } from './shown-keys.js';

/** As many as a keyring lists at once. */
const PAGE = 1000;

/** Yields the keys of each page, at most `most` in all. */
export async function* pagesOf(
  keyring: Keyring,
  authority: Authority,
  addressing: boolean = false,
  most: number = Number.POSITIVE_INFINITY,
): AsyncGenerator<readonly ShownKey[]> {
  let left = most;
  let after: string | null = null;
  do {
    const input: ListInput = { after, limit: Math.min(PAGE, left), addressing };
    const page: ListPage<ShownKey> = await keyring.list(input, authority);
    yield page.keys;
    left -= page.keys.length;
    after = page.next;
  } while (after !== null && left > 0);
}
