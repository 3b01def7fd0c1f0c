/** The list of an organization's keys, a page of it at a time. */
import { html } from 'hono/html';
import type { KeyInfo } from 'keyscope';
import type { Member } from '../../platform/host/accounts.ts';
import { KEYS } from '../paths.ts';
import type { Html } from './frame.ts';
import { page, TO_KEYS, time } from './frame.ts';
import { stateOf } from './key-state.ts';

const COLUMNS = ['Name', 'State', 'Scopes', 'Created', 'Expires', 'Last used'];
const HEAD = COLUMNS.map((name) => html`<th scope="col">${name}</th>`);

function scopeList(scopes: readonly string[]): readonly Html[] | string {
  if (scopes.length === 0) return 'none: /me alone';
  return scopes.map((scope) => html`<code>${scope}</code> `);
}

function row(key: KeyInfo, now: number): Html {
  const link = html`<a href="${KEYS}/${key.keyId}">${key.name} <small>${key.keyId}</small></a>`;
  return html`<tr>
      <th scope="row">${link}</th>
      <td>${stateOf(key, now).words}</td>
      <td>${scopeList(key.scopes)}</td>
      <td>${time(key.createdAt)}</td>
      <td>${time(key.expiresAt, 'never')}</td>
      <td>${time(key.lastUsedAt, 'never')}</td>
    </tr>`;
}

/** @param next What leads to the page of older keys, if there are any. */
export function keyListPage(
  member: Member,
  keys: readonly KeyInfo[],
  next: string | null,
  now: number,
): Html {
  const create = html`<p><a class="button" href="${KEYS}/new">Create API Key</a></p>`;
  const empty = html`<tr><td colspan="6">There are no keys.</td></tr>`;
  const rows = keys.length === 0 ? empty : keys.map((key) => row(key, now));
  const older =
    next && html`<p><a href="${KEYS}?after=${encodeURIComponent(next)}">Older keys</a></p>`;
  const content = html`<h1>API Keys</h1>
      ${member.authority && create}
      <div class="wide" tabindex="0" role="region" aria-label="Keys">
        <table>
          <thead><tr>${HEAD}</tr></thead>
          <tbody>${rows}</tbody>
        </table>
      </div>
      ${older}`;
  return page('API Keys', member, TO_KEYS, content);
}
