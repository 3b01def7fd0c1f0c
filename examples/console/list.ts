/** The list of an organization's keys: page by page, or searched as a whole. */
import type { DamagedKey, KeyInfo, ListPage } from 'keyscope';
import { isInputError } from 'keyscope';
import type { Search } from './pages/key-list.ts';
import { keyListPage } from './pages/key-list.ts';
import type { ConsoleService } from './service.ts';
import type { Visit } from './visit.ts';
import { Refused } from './visit.ts';

const PAGE_SIZE = 50;
/** How many of the newest keys a search looks at. */
const MOST_SEARCHED = 1000;

function readSearch(c: Visit): Search {
  return { text: c.req.query('q')?.trim() ?? '', state: c.req.query('state') ?? '' };
}

async function readPage(c: Visit, { keyring }: ConsoleService, limit: number): Promise<ListPage> {
  const { entityUuid } = c.var.member;
  const after = c.req.query('after');
  try {
    return await keyring.list({ after, limit }, { entityUuid });
  } catch (error) {
    if (isInputError(error)) throw new Refused(400, 'This is no page of the list.');
    throw error;
  }
}

/** What people see of a key in the list, and may look for. */
function wordsOf(key: KeyInfo | DamagedKey): string {
  if (!('name' in key)) return key.keyId;
  const { keyId, name, prefix, hint, scopes, createdBy } = key;
  return [keyId, name, `${prefix}_…${hint}`, ...scopes, createdBy].join(' ').toLowerCase();
}

function matches(key: KeyInfo | DamagedKey, { text, state }: Search): boolean {
  const hasState = state === '' || key.state === state;
  return hasState && wordsOf(key).includes(text.toLowerCase());
}

export async function showList(c: Visit, service: ConsoleService): Promise<Response> {
  const search = readSearch(c);
  const isSearch = search.text !== '' || search.state !== '';
  const { keys, next } = await readPage(c, service, isSearch ? MOST_SEARCHED : PAGE_SIZE);
  const found = keys.filter((key) => matches(key, search));
  const list = { keys: found, next, search: isSearch ? search : null, now: service.now() };
  return c.html(keyListPage(c.var.member, list));
}
