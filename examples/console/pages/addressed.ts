/** Keys of other organizations that address this one. */
import { html } from 'hono/html';
import type { AddressedKey, DamagedKey, ListPage } from 'keyscope';
import { ADDRESSING } from '../paths.ts';
import type { Member } from '../visit.ts';
import type { Html } from './frame.ts';
import { cell, page, TO_KEYS, time } from './frame.ts';
import { handleOf, scopeName, stateOf } from './key-state.ts';

const COLUMNS = ['Name', 'Organization', 'State', 'Scopes', 'Created', 'Expires', 'Access'];
const HEAD = COLUMNS.map((name) => html`<th scope="col">${name}</th>`);

function withdrawForm({ keyId, name }: AddressedKey): Html {
  return html`<form method="post" action="${ADDRESSING}/${keyId}">
      <details>
        <summary aria-label="Withdraw from ${name}">Withdraw</summary>
        <button class="grave" aria-label="Withdraw for good from ${name}">Withdraw for good</button>
      </details>
    </form>`;
}

/** Whether the key still reaches this organization, and how that ends. */
function access(key: AddressedKey, canWithdraw: boolean): Html | string {
  if (key.withdrawn.length > 0) return 'Withdrawn';
  return canWithdraw ? withdrawForm(key) : 'Yes';
}

function row(key: AddressedKey | DamagedKey, canWithdraw: boolean, now: number): Html {
  const organization = cell('Organization', html`<code>${key.entityUuid}</code>`);
  const state = stateOf(key, now);
  if (!('name' in key))
    return html`<tr><th scope="row"><code>${key.keyId}</code></th>
      ${organization}<td colspan="5">${state}</td></tr>`;
  return html`<tr>
      <th scope="row">${key.name} <small>${handleOf(key)}</small></th>
      ${organization}
      ${cell('State', state)}
      ${cell('Scopes', key.scopes.map(scopeName))}
      ${cell('Created', time(key.createdAt))}
      ${cell('Expires', time(key.expiresAt, 'never'))}
      ${cell('Access', access(key, canWithdraw))}
    </tr>`;
}

/** @param now Milliseconds since the epoch. */
export function addressedPage(
  member: Member,
  { keys, next }: ListPage<AddressedKey>,
  now: number,
): Html {
  const canWithdraw = member.authority !== null;
  const empty = html`<tr><td colspan="7">No key of others reaches this one.</td></tr>`;
  const rows = keys.length === 0 ? empty : keys.map((key) => row(key, canWithdraw, now));
  const older =
    next && html`<p><a href="${ADDRESSING}?after=${encodeURIComponent(next)}">Older keys</a></p>`;
  const content = html`<h1>Keys of others</h1>
      <p>Other organizations made these keys, and they reach this one. Who withdraws is out of
        reach from the next request on, for good.</p>
      <div class="wide" tabindex="0" role="region" aria-label="Keys of others">
        <table class="keys">
          <thead><tr>${HEAD}</tr></thead>
          <tbody>${rows}</tbody>
        </table>
      </div>
      ${older}`;
  return page('Keys of others', member, TO_KEYS, content);
}
