/** The form for a new key. */
import { html } from 'hono/html';
import type { Catalog } from 'keyscope';
import { KEYS } from '../paths.ts';
import type { SignedIn } from '../visit.ts';
import type { Html } from './frame.ts';
import { alert, form, options, page } from './frame.ts';
import { scopeName } from './key-state.ts';

/** The lifetimes that the form offers, in days. */
export const LIFETIMES = {
  30: 'After 30 days',
  90: 'After 90 days',
  365: 'After 1 year',
  never: 'Does not expire',
} as const;

/** The fields of the form, as the visitor filled them in. */
export interface NewKey {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly lifetime: string;
  readonly justification: string;
}

export const NOTHING_ENTERED: NewKey = { name: '', scopes: [], lifetime: '90', justification: '' };

export interface NewKeyForm {
  readonly catalog: Catalog;
  /** The scopes that the member may grant. */
  readonly offered: readonly string[];
  readonly input: NewKey;
  readonly faults: Faults;
}

/** The mistake in each field, by the field's name. */
export type Faults = Readonly<Record<string, string>>;

/** The fields from top to bottom, by the names that keyscope uses. */
const FIELDS = ['name', 'scopes', 'justification', 'expiresAt'];

/** Returns the message at a field; nothing if the field is right. */
function faultAt(field: string, faults: Faults): Html | null {
  const fault = faults[field];
  if (fault === undefined) return null;
  return html`<small id="${field}-fault" class="fault">${fault}</small>`;
}

/** Returns the attributes that mark a wrong field. The first one gets the focus. */
function marks(field: string, faults: Faults): Html | string {
  if (faults[field] === undefined) return '';
  const first = FIELDS.find((name) => faults[name] !== undefined);
  const focus = first === field ? html` autofocus` : '';
  return html` aria-invalid="true" aria-describedby="${field}-fault"${focus}`;
}

function summary(faults: Faults): string | null {
  const count = Object.keys(faults).length;
  if (count === 0) return null;
  return count === 1 ? 'Correct the marked field.' : `Correct the ${count} marked fields.`;
}

function scopeBox(scope: string, { catalog, input }: NewKeyForm, mark: Html | string): Html {
  const checked = input.scopes.includes(scope) ? html` checked` : '';
  return html`<label class="scope">
      <input type="checkbox" name="scopes" value="${scope}"${checked}${mark}>
      <span>${scopeName(scope)} ${catalog.describe(scope)}</span>
    </label>`;
}

/** Returns a group of checkboxes. The first gets the mark. */
function scopeBoxes(scopes: readonly string[], form: NewKeyForm, mark: Html | string): Html[] {
  return scopes.map((scope, index) => scopeBox(scope, form, index === 0 ? mark : ''));
}

function plainScopes(form: NewKeyForm): Html {
  const { catalog, offered, faults } = form;
  const plain = offered.filter((scope) => !catalog.isReserved(scope));
  return html`<fieldset>
          <legend>Scopes</legend>
          <p>Select only the scopes that the integration needs. You cannot change them later.</p>
          ${faultAt('scopes', faults)}
          ${scopeBoxes(plain, form, marks('scopes', faults))}
        </fieldset>`;
}

/** Returns nothing for a member who may not grant any reserved scope. */
function reservedScopes(form: NewKeyForm): Html | null {
  const { catalog, offered, input, faults } = form;
  const reserved = offered.filter((scope) => catalog.isReserved(scope));
  if (reserved.length === 0) return null;
  return html`<fieldset>
      <legend>Reserved scopes</legend>
      <p>Select these only if the integration needs them, and say why.</p>
      ${scopeBoxes(reserved, form, '')}
      <label for="justification">Reason for the reserved scopes</label>
      ${faultAt('justification', faults)}
      <textarea id="justification" name="justification" maxlength="500" rows="2"${marks(
        'justification',
        faults,
      )}>${input.justification}</textarea>
    </fieldset>`;
}

function nameField({ input, faults }: NewKeyForm): Html {
  const mark = marks('name', faults) || html` aria-describedby="name-help"`;
  return html`<label for="name">Name</label>
        <input id="name" name="name" value="${input.name}" maxlength="100"
          autocomplete="off" required${mark}>
        <small id="name-help">Say where the key will be used.</small>
        ${faultAt('name', faults)}`;
}

function lifetimeField({ input, faults }: NewKeyForm): Html {
  return html`<label for="lifetime">Expiry</label>
        <select id="lifetime" name="lifetime"${marks('expiresAt', faults)}>
          ${options(LIFETIMES, input.lifetime)}</select>
        ${faultAt('expiresAt', faults)}`;
}

export function newKeyPage(member: SignedIn, entered: NewKeyForm): Html {
  const fields = html`${nameField(entered)}
        ${plainScopes(entered)}
        ${reservedScopes(entered)}
        ${lifetimeField(entered)}
        <p class="actions"><button class="button">Create</button>
          <a href="${KEYS}">Cancel</a></p>`;
  const content = html`<dialog open aria-labelledby="title">
      <h1 id="title">Create API Key</h1>
      ${alert(summary(entered.faults))}
      ${form(member, KEYS, fields)}
    </dialog>`;
  return page('Create API Key', member, content);
}
