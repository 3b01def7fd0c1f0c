/** The page of one key: what it is, what it may do, and how it is replaced or ended. */
import { html } from 'hono/html';
import type { Catalog, DamagedKey, KeyInfo } from 'keyscope';
import { KEYS } from '../paths.ts';
import type { Member } from '../visit.ts';
import type { Html } from './frame.ts';
import { cell, page, TO_KEYS, time } from './frame.ts';
import { endingOf, handleOf, isOver, scopeName, stateOf } from './key-state.ts';
import { damagedForm, manageForm } from './manage-key.ts';

interface Fact {
  readonly name: string;
  readonly value: Html | readonly Html[] | string | null;
}

function entitiesOf(key: KeyInfo): readonly Html[] {
  return key.accessibleEntities.map((entity) => {
    const withdrew = key.withdrawn.includes(entity) ? html`(has withdrawn) ` : '';
    return html`<code>${entity}</code> ${withdrew}`;
  });
}

function predecessorOf({ rotatedFrom }: KeyInfo): Html | null {
  if (rotatedFrom === null) return null;
  return html`<a href="${KEYS}/${rotatedFrom}">its predecessor</a>`;
}

/** Those without a value are left out. */
function factsOf(key: KeyInfo, now: number): readonly Fact[] {
  const { createdBy, retireAt } = key;
  return [
    { name: 'Key', value: handleOf(key) },
    { name: 'Key id', value: html`<code>${key.keyId}</code>` },
    { name: 'State', value: stateOf(key, now) },
    { name: 'Since', value: endingOf(key) },
    { name: 'Organizations', value: entitiesOf(key) },
    { name: 'Created', value: html`${time(key.createdAt)}${createdBy && html`, by ${createdBy}`}` },
    { name: 'Expires', value: time(key.expiresAt, 'never') },
    { name: 'Last used', value: time(key.lastUsedAt, 'never') },
    { name: 'Replaced', value: retireAt && html`ends ${time(retireAt)}` },
    { name: 'Replaces', value: predecessorOf(key) },
    { name: 'Justification', value: key.justification },
  ];
}

function whatItAllows(scope: string, catalog: Catalog): string {
  const isKnown = catalog.all.some((known) => known === scope);
  if (!isKnown) return 'The platform has it no longer; it grants nothing.';
  return catalog.describe(scope);
}

function scopeRow(scope: string, { key, unused, catalog }: KeyDetails): Html {
  const isUnused = unused.includes(scope);
  const advice = isUnused ? html` <small>A new key could do without.</small>` : '';
  const lastUsed = time(key.scopesUsed[scope] ?? null, 'never');
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
  if (key.scopes.length === 0) return html`<p>None: the key opens <code>/me</code> alone.</p>`;
  const rows = key.scopes.map((scope) => scopeRow(scope, details));
  return html`<div class="wide" tabindex="0" role="region" aria-label="Scopes"><table>
          <thead>${SCOPE_HEAD}</thead>
          <tbody>${rows}</tbody>
        </table></div>`;
}

const TAMPERED = html`<p role="alert">Somebody has edited the record of this key: do not trust what
        it says.</p>`;

export interface KeyDetails {
  readonly catalog: Catalog;
  readonly key: KeyInfo;
  /** Scopes that the integration has not used for a long time. */
  readonly unused: readonly string[];
  /** What allows the form to replace the key once. */
  readonly once: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export function keyPage(member: Member, details: KeyDetails): Html {
  const { key, unused, once, now } = details;
  const facts = factsOf(key, now)
    .filter(({ value }) => value !== null)
    .map(({ name, value }) => html`<dt>${name}</dt><dd>${value}</dd>`);
  const canManage = member.authority !== null && !isOver(key);
  const content = html`<h1>${key.name}</h1>
      ${key.tampered && TAMPERED}
      <dl>${facts}</dl>
      <h2>Scopes</h2>
      ${scopeTable(details)}
      ${canManage && manageForm(key, unused, once)}`;
  return page(key.name, member, TO_KEYS, content);
}

/** Of a key whose record cannot be read: all that can be done is to end it. */
export function damagedKeyPage(member: Member, key: DamagedKey): Html {
  const canEnd = member.authority !== null && key.state === 'damaged';
  const content = html`<h1>Unreadable key</h1>
      <p>The record of <code>${key.keyId}</code> cannot be read: ${key.state}. It lets nobody
        in.</p>
      ${canEnd && damagedForm(key.keyId)}`;
  return page('Unreadable key', member, TO_KEYS, content);
}
