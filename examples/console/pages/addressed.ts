/** The list of other organizations' keys that can address this one. */
import { html } from 'hono/html';
import type { AddressedKey, DamagedKey, ListPage } from 'keyscope';
import { ADDRESSING } from '../paths.ts';
import type { SignedIn } from '../visit.ts';
import type { Html, NameOf } from './frame.ts';
import { cell, form, organization, page, result, time } from './frame.ts';
import { handleOf, scopeName, stateOf } from './key-state.ts';

const COLUMNS = ['Name', 'Organization', 'State', 'Scopes', 'Created', 'Expires', 'Access'];
const HEAD = COLUMNS.map((name) => html`<th scope="col">${name}</th>`);

function withdrawForm({ keyId, name }: AddressedKey, member: SignedIn): Html {
  const content = html`<details>
        <summary aria-label="Withdraw access of ${name}">Withdraw…</summary>
        <small>You cannot undo this.</small>
        <button class="grave" aria-label="Withdraw access of ${name} permanently">Withdraw</button>
      </details>`;
  return form(member, `${ADDRESSING}/${keyId}`, content);
}

/** Says whether the key can reach this organization, and offers to withdraw that. */
function access(key: AddressedKey, member: SignedIn): Html | string {
  if (key.withdrawn.length > 0) return 'Withdrawn';
  return member.authority === null ? 'Yes' : withdrawForm(key, member);
}

function row(key: AddressedKey | DamagedKey, member: SignedIn, list: AddressedKeys): Html {
  const { nameOf, now } = list;
  const owner = cell('Organization', organization(key.entityId, nameOf));
  const state = stateOf(key, now);
  if (!('name' in key))
    return html`<tr><th scope="row"><code>${key.keyId}</code></th>
      ${owner}<td colspan="5">${state}</td></tr>`;
  return html`<tr>
      <th scope="row">${key.name} <small><code>${handleOf(key)}</code></small></th>
      ${owner}
      ${cell('State', state)}
      ${cell('Scopes', key.scopes.map(scopeName))}
      ${cell('Created', time(key.createdAt))}
      ${cell('Expires', time(key.expiresAt, 'does not expire'))}
      ${cell('Access', access(key, member))}
    </tr>`;
}

export interface AddressedKeys extends ListPage<AddressedKey> {
  readonly nameOf: NameOf;
  /** The result of the action that led here; `null` if none did. */
  readonly notice: string | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

const EMPTY = html`<tr><td colspan="7">No key of another organization can reach yours.</td></tr>`;

export function addressedPage(member: SignedIn, list: AddressedKeys): Html {
  const { keys, next, notice } = list;
  const rows = keys.length === 0 ? EMPTY : keys.map((key) => row(key, member, list));
  const older =
    next && html`<p><a href="${ADDRESSING}?after=${encodeURIComponent(next)}">Older keys</a></p>`;
  const content = html`<h1>Keys of other organizations</h1>
      ${result(notice)}
      <p>Other organizations created these keys, and the keys can reach yours. When you withdraw
        access, the key's next request to your organization is refused.</p>
      <div class="wide" tabindex="0" role="region" aria-label="Keys of other organizations">
        <table class="keys">
          <thead><tr>${HEAD}</tr></thead>
          <tbody>${rows}</tbody>
        </table>
      </div>
      ${older}`;
  return page('Keys of other organizations', member, content);
}
