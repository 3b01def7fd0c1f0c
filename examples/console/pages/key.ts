/** The page of one key: what it is, what it may do, and how it is replaced or ended. */
import { html } from 'hono/html';
import type { KeyInfo } from 'keyscope';
import type { Member } from '../../platform/host/accounts.ts';
import { catalog } from '../../platform/service/catalog.ts';
import { KEYS } from '../paths.ts';
import type { Html } from './frame.ts';
import { options, page, TO_KEYS, time } from './frame.ts';
import { stateOf } from './key-state.ts';

/** How long the old key lives on after a rotation, in hours. */
export const OVERLAPS = {
  0: 'Ends at once',
  1: 'One hour',
  24: 'One day',
  168: 'One week',
} as const;

interface Fact {
  readonly name: string;
  readonly value: Html | readonly Html[] | string;
}

function factsOf(key: KeyInfo, state: string): readonly Fact[] {
  const facts: Fact[] = [
    { name: 'Key id', value: html`<code>${key.keyId}</code>` },
    { name: 'State', value: state },
    {
      name: 'Organizations',
      value: key.accessibleEntities.map((entity) => html`<code>${entity}</code> `),
    },
    { name: 'Created', value: time(key.createdAt) },
    { name: 'Expires', value: time(key.expiresAt, 'never') },
    { name: 'Last used', value: time(key.lastUsedAt, 'never') },
  ];
  if (key.retireAt !== null)
    facts.push({ name: 'Replaced', value: html`ends ${time(key.retireAt)}` });
  if (key.rotatedFrom !== null) {
    const link = html`<a href="${KEYS}/${key.rotatedFrom}">its predecessor</a>`;
    facts.push({ name: 'Replaces', value: link });
  }
  if (key.justification !== null) facts.push({ name: 'Justification', value: key.justification });
  return facts;
}

function whatItAllows(scope: string): string {
  const isKnown = catalog.all.some((known) => known === scope);
  if (!isKnown) return 'The platform has it no longer; it grants nothing.';
  return catalog.describe(scope);
}

function scopeRow(scope: string, key: KeyInfo, unused: readonly string[]): Html {
  const advice = unused.includes(scope) ? ' – a new key could do without' : '';
  return html`<tr>
      <th scope="row"><code>${scope}</code></th>
      <td>${whatItAllows(scope)}</td>
      <td>${time(key.scopesUsed[scope] ?? null, 'never')}${advice}</td>
    </tr>`;
}

const SCOPE_HEAD = html`<tr>
            <th scope="col">Scope</th><th scope="col">Allows</th><th scope="col">Last used</th>
          </tr>`;

function scopeTable(key: KeyInfo, unused: readonly string[]): Html {
  if (key.scopes.length === 0) return html`<p>None: the key opens <code>/me</code> alone.</p>`;
  const rows = key.scopes.map((scope) => scopeRow(scope, key, unused));
  return html`<div class="wide" tabindex="0" role="region" aria-label="Scopes"><table>
          <thead>${SCOPE_HEAD}</thead>
          <tbody>${rows}</tbody>
        </table></div>`;
}

const REPLACE = html`<label for="overlap">The old key, once it is replaced</label>
        <select id="overlap" name="overlap">${options(OVERLAPS, '24')}</select>
        <p><button name="action" value="rotate">Replace by a new key</button></p>`;

function manageForm(key: KeyInfo, once: string): Html {
  return html`<h2>End or replace it</h2>
    <form method="post" action="${KEYS}/${key.keyId}" class="fields">
      <input type="hidden" name="once" value="${once}">
      ${key.retireAt === null && REPLACE}
      <details>
        <summary>Revoke</summary>
        <p>Whatever uses the key is refused from then on, and nothing brings it back.</p>
        <p><button name="action" value="revoke" class="grave">Revoke for good</button></p>
      </details>
    </form>`;
}

export interface KeyDetails {
  readonly key: KeyInfo;
  /** Scopes that the integration has not used for a long time. */
  readonly unused: readonly string[];
  /** What allows the form to replace the key once. */
  readonly once: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export function keyPage(member: Member, { key, unused, once, now }: KeyDetails): Html {
  const { ended, words } = stateOf(key, now);
  const facts = factsOf(key, words).map(
    ({ name, value }) => html`<dt>${name}</dt><dd>${value}</dd>`,
  );
  const canManage = member.authority !== null && !ended;
  const content = html`<h1>${key.name}</h1>
      <dl>${facts}</dl>
      <h2>Scopes</h2>
      ${scopeTable(key, unused)}
      ${canManage && manageForm(key, once)}`;
  return page(key.name, member, TO_KEYS, content);
}
