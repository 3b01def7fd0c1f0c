/** The list of an organization's keys: one page of it, or the results of a search. */
import type { DamagedKey, KeyInfo, ListPage } from 'keyscope';
import { isInputError } from 'keyscope';
import type { Search } from './pages/key-list.ts';
import { keyListPage } from './pages/key-list.ts';
import { handleOf } from './pages/key-state.ts';
import type { ConsoleService } from './service.ts';
import type { Visit } from './visit.ts';
import { Refused } from './visit.ts';

const PAGE_SIZE = 50;
/** A search covers this many of the newest keys. */
const MOST_SEARCHED = 1000;

function readSearch(c: Visit): Search {
  return { text: c.req.query('q')?.trim() ?? '', state: c.req.query('state') ?? '' };
}

async function readPage(c: Visit, { keyring }: ConsoleService, limit: number): Promise<ListPage> {
  const { entityId } = c.var.member;
  const after = c.req.query('after');
  try {
    return await keyring.list({ after, limit }, { entityId });
  } catch (error) {
    if (isInputError(error)) throw new Refused(400, 'The list has no such page.');
    throw error;
  }
}

/** The text of a key that a search looks through. */
function wordsOf(key: KeyInfo | DamagedKey): string {
  if (!('name' in key)) return key.keyId;
  const { keyId, name, scopes, createdBy } = key;
  return [keyId, name, handleOf(key), ...scopes, createdBy].join(' ').toLowerCase();
}

function matches(key: KeyInfo | DamagedKey, { text, state }: Search): boolean {
  const hasState = state === '' || key.state === state;
  return hasState && wordsOf(key).includes(text.toLowerCase());
}

export async function showList(c: Visit, service: ConsoleService): Promise<Response> {
  const search = readSearch(c);
  const isSearch = search.text !== '' || search.state !== '';
  const { keys, next } = await readPage(c, service, isSearch ? MOST_SEARCHED : PAGE_SIZE);
  const { nameOf, now } = service;
  const list = {
    keys: keys.filter((key) => matches(key, search)),
    next,
    search: isSearch ? search : null,
    organization: nameOf(c.var.member.entityId),
    now: now(),
  };
  return c.html(keyListPage(c.var.member, list));
}
