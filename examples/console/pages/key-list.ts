/** The list of an organization's keys. */
import { html } from 'hono/html';
import type { DamagedKey, KeyInfo } from 'keyscope';
import { ADDRESSING, KEYS } from '../paths.ts';
import type { Member } from '../visit.ts';
import type { Html } from './frame.ts';
import { cell, options, page, time } from './frame.ts';
import { handleOf, STATES, scopeName, stateOf } from './key-state.ts';

const COLUMNS = ['Name', 'State', 'Scopes', 'Created', 'Expires', 'Last used'];
const HEAD = COLUMNS.map((name) => html`<th scope="col">${name}</th>`);

/** The fields of the search form. */
export interface Search {
  /** A part of the name, the id, the last four characters, a scope, or the creator. */
  readonly text: string;
  /** Empty for any state. */
  readonly state: string;
}

export interface KeyList {
  readonly keys: readonly (KeyInfo | DamagedKey)[];
  /** The position after which older keys follow; `null` on the last page. */
  readonly next: string | null;
  /** `null` without a search. */
  readonly search: Search | null;
  /** The name of the organization; `null` if it has none here. */
  readonly organization: string | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

function scopeList(scopes: readonly string[]): readonly Html[] | string {
  if (scopes.length === 0) return 'none';
  return scopes.map(scopeName);
}

function damagedRow(key: DamagedKey, now: number): Html {
  return html`<tr>
      <th scope="row"><a href="${KEYS}/${key.keyId}">Unreadable</a>
        <small><code>${key.keyId}</code></small></th>
      ${cell('State', stateOf(key, now))}
      <td colspan="4">The record of this key cannot be read.</td>
    </tr>`;
}

function row(key: KeyInfo | DamagedKey, now: number): Html {
  if (!('name' in key)) return damagedRow(key, now);
  const link = html`<a href="${KEYS}/${key.keyId}">${key.name}</a>`;
  return html`<tr>
      <th scope="row">${link} <small><code>${handleOf(key)}</code></small></th>
      ${cell('State', stateOf(key, now))}
      ${cell('Scopes', scopeList(key.scopes))}
      ${cell('Created', time(key.createdAt))}
      ${cell('Expires', time(key.expiresAt, 'does not expire'))}
      ${cell('Last used', time(key.lastUsedAt, 'not used yet'))}
    </tr>`;
}

function searchForm(search: Search | null): Html {
  const { text, state } = search ?? { text: '', state: '' };
  const all = search && html`<a href="${KEYS}">Show all keys</a>`;
  return html`<form role="search" method="get" action="${KEYS}" class="search">
        <label>Search <input name="q" type="search" value="${text}" maxlength="100"></label>
        <label>State
          <select name="state">${options({ '': 'Any', ...STATES }, state)}</select></label>
        <button>Search</button> ${all}
      </form>`;
}

function moreLink({ next, search }: KeyList): Html | null {
  if (next === null) return null;
  if (search !== null) return html`<p>The search covers the newest 1,000 keys only.</p>`;
  return html`<p><a href="${KEYS}?after=${encodeURIComponent(next)}">Older keys</a></p>`;
}

export function keyListPage(member: Member, list: KeyList): Html {
  const { keys, search, organization, now } = list;
  const create = html`<a class="button" href="${KEYS}/new">Create API Key</a>`;
  const words = search === null ? 'You do not have any keys yet.' : 'No keys match your search.';
  const empty = html`<tr><td colspan="6">${words}</td></tr>`;
  const rows = keys.length === 0 ? empty : keys.map((key) => row(key, now));
  const whose =
    organization &&
    html`<p>Programs use these keys to call the API on behalf of
        ${organization}.</p>`;
  const content = html`<h1>API Keys</h1>
      ${whose}
      <p class="actions">${member.authority && create}
        <a href="${ADDRESSING}">Keys of other organizations</a></p>
      ${searchForm(search)}
      <div class="wide" tabindex="0" role="region" aria-label="Keys">
        <table class="keys">
          <thead><tr>${HEAD}</tr></thead>
          <tbody>${rows}</tbody>
        </table>
      </div>
      ${moreLink(list)}`;
  return page('API Keys', member, content);
}
