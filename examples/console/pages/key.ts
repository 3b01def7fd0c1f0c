/** The page of one key: its facts, its history, its scopes, and the forms that manage it. */
import { html } from 'hono/html';
import type { Catalog, DamagedKey, KeyInfo } from 'keyscope';
import type { SignedIn } from '../visit.ts';
import type { Html, NameOf } from './frame.ts';
import { cell, organization, page, result, time } from './frame.ts';
import { historyTable, type WithKin } from './key-history.ts';
import { handleOf, isOver, STATES, scopeName, stateOf } from './key-state.ts';
import { damagedForm, manageForm } from './manage-key.ts';

interface Fact {
  readonly name: string;
  readonly value: Html | readonly Html[] | string | null;
}

function organizationsOf({ key, nameOf }: KeyDetails): readonly Html[] {
  return key.accessibleEntities.map((entity) => {
    const withdrew = key.withdrawn.includes(entity) ? ' (withdrew access)' : '';
    return html`<div>${organization(entity, nameOf)}${withdrew}</div>`;
  });
}

/** When a rotated key stops working; `null` if it was not rotated, or if it has ended. */
function endOfOverlap(key: KeyInfo): Html | string | null {
  return key.retireAt !== null && !isOver(key) ? time(key.retireAt) : null;
}

/** The claims of the tokens that act as a keyless key, as JSON: an edited record may have any. */
function trustOf({ trust }: KeyInfo): readonly Html[] | null {
  if (trust === null) return null;
  const { issuer, claims } = trust;
  const claimed = Object.entries({ iss: issuer, ...claims });
  return claimed.map(
    ([name, value]) => html`<div><code>${name}: ${JSON.stringify(value)}</code></div>`,
  );
}

/** The page leaves out facts that are `null`. */
function factsOf(details: KeyDetails): readonly Fact[] {
  const { key, now } = details;
  return [
    { name: 'Key', value: html`<code>${handleOf(key)}</code>` },
    { name: 'Key id', value: html`<code>${key.keyId}</code>` },
    { name: 'Tokens that act as it', value: trustOf(key) },
    { name: 'State', value: stateOf(key, now) },
    { name: 'Stops working', value: endOfOverlap(key) },
    { name: 'Organizations', value: organizationsOf(details) },
    { name: 'Expires', value: time(key.expiresAt, 'does not expire') },
    { name: 'Last used', value: time(key.lastUsedAt, 'not used yet') },
    { name: 'Reason for reserved scopes', value: key.justification },
  ];
}

function whatItAllows(scope: string, catalog: Catalog): string {
  const isKnown = catalog.all.some((known) => known === scope);
  if (!isKnown) return 'Nothing: the platform no longer has this scope.';
  return catalog.describe(scope);
}

function scopeRow(scope: string, { key, unused, catalog }: KeyDetails): Html {
  const isUnused = unused.includes(scope);
  const advice = isUnused ? html` <small>Not used for 90 days.</small>` : '';
  const lastUsed = time(key.scopesUsed[scope] ?? null, 'not used yet');
  return html`<tr>
      <th scope="row">${scopeName(scope)}</th>
      ${cell('Allows', whatItAllows(scope, catalog))}
      ${cell('Last used', html`${lastUsed}${advice}`)}
    </tr>`;
}

const SCOPE_HEAD = html`<tr>
            <th scope="col">Scope</th><th scope="col">Allows</th><th scope="col">Last used</th>
          </tr>`;

function scopeTable(details: KeyDetails): Html {
  const { key } = details;
  if (key.scopes.length === 0) return html`<p>None. The key can only call <code>/me</code>.</p>`;
  const rows = key.scopes.map((scope) => scopeRow(scope, details));
  return html`<div class="wide" tabindex="0" role="region" aria-label="Scopes"><table>
          <thead>${SCOPE_HEAD}</thead>
          <tbody>${rows}</tbody>
        </table></div>`;
}

const TAMPERED = html`<p role="alert">Someone edited the record of this key in the database. Do not
        trust what this page says about it.</p>`;

export interface KeyDetails extends WithKin {
  readonly catalog: Catalog;
  /** Scopes that the integration has not used for a long time. */
  readonly unused: readonly string[];
  /** The result of the action that led here; `null` if none did. */
  readonly notice: string | null;
  readonly nameOf: NameOf;
}

export function keyPage(member: SignedIn, details: KeyDetails): Html {
  const { key, unused, notice } = details;
  const facts = factsOf(details)
    .filter(({ value }) => value !== null)
    .map(({ name, value }) => html`<dt>${name}</dt><dd>${value}</dd>`);
  const canManage = member.authority !== null && !isOver(key);
  const content = html`<h1>${key.name}</h1>
      ${result(notice)}
      ${key.tampered && TAMPERED}
      <dl>${facts}</dl>
      <h2>Scopes</h2>
      ${scopeTable(details)}
      <h2>History</h2>
      ${historyTable(details)}
      ${canManage && manageForm(member, key, unused)}`;
  return page(key.name, member, content);
}

/** The page of a key whose record cannot be read. All that you can do with it is revoke it. */
export function damagedKeyPage(member: SignedIn, key: DamagedKey, notice: string | null): Html {
  const canRevoke = member.authority !== null && key.state === 'damaged';
  const content = html`<h1>Unreadable key</h1>
      ${result(notice)}
      <p>The record of <code>${key.keyId}</code> cannot be read
        (${STATES[key.state].toLowerCase()}). The key does not work.</p>
      ${canRevoke && damagedForm(member, key.keyId)}`;
  return page('Unreadable key', member, content);
}
