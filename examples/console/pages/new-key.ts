/** The form for a new key. */
import { html } from 'hono/html';
import type { Catalog } from 'keyscope';
import { KEYS } from '../paths.ts';
import type { Member } from '../visit.ts';
import type { Html } from './frame.ts';
import { alert, options, page, TO_KEYS } from './frame.ts';
import { scopeName } from './key-state.ts';

/** How long a new key may live, in days. */
export const LIFETIMES = {
  30: '30 days',
  90: '90 days',
  365: 'One year',
  never: 'No end',
} as const;

/** What was entered in the form for a new key. */
export interface NewKey {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly lifetime: string;
  readonly justification: string;
}

export const NOTHING_ENTERED: NewKey = { name: '', scopes: [], lifetime: '90', justification: '' };

export interface NewKeyForm {
  readonly catalog: Catalog;
  /** Scopes that the member may grant. */
  readonly offered: readonly string[];
  /** What allows this form to make one key. */
  readonly once: string;
  readonly input: NewKey;
  readonly faults: Faults;
}

/** What was wrong with each field of the input, if it was sent before. */
export type Faults = Readonly<Record<string, string>>;

/** Of the form, from top to bottom, by the names that keyscope has for them. */
const FIELDS = ['name', 'scopes', 'justification', 'expiresAt'];

/** The sentence at a field that was wrong. */
function faultAt(field: string, faults: Faults): Html | null {
  const fault = faults[field];
  if (fault === undefined) return null;
  return html`<small id="${field}-fault" class="fault">${fault}</small>`;
}

/** What a field that was wrong is marked with; the first one has the focus. */
function marks(field: string, faults: Faults): Html | string {
  if (faults[field] === undefined) return '';
  const first = FIELDS.find((name) => faults[name] !== undefined);
  const focus = first === field ? html` autofocus` : '';
  return html` aria-invalid="true" aria-describedby="${field}-fault"${focus}`;
}

function summary(faults: Faults): string | null {
  const count = Object.keys(faults).length;
  if (count === 0) return null;
  return count === 1 ? 'One field needs another look.' : `${count} fields need another look.`;
}

function scopeBox(scope: string, { catalog, input }: NewKeyForm, mark: Html | string): Html {
  const checked = input.scopes.includes(scope) ? html` checked` : '';
  return html`<label class="scope">
      <input type="checkbox" name="scopes" value="${scope}"${checked}${mark}>
      <span>${scopeName(scope)} ${catalog.describe(scope)}</span>
    </label>`;
}

/** A group of boxes, of which the first is marked if the scopes were wrong. */
function scopeBoxes(scopes: readonly string[], form: NewKeyForm, mark: Html | string): Html[] {
  return scopes.map((scope, index) => scopeBox(scope, form, index === 0 ? mark : ''));
}

function plainScopes(form: NewKeyForm): Html {
  const { catalog, offered, faults } = form;
  const plain = offered.filter((scope) => !catalog.isReserved(scope));
  return html`<fieldset>
          <legend>Scopes</legend>
          <p>Grant only what the integration calls. They cannot be changed afterwards.</p>
          ${faultAt('scopes', faults)}
          ${scopeBoxes(plain, form, marks('scopes', faults))}
        </fieldset>`;
}

/** Nothing for a member who may grant none of them. */
function reservedScopes(form: NewKeyForm): Html | null {
  const { catalog, offered, input, faults } = form;
  const reserved = offered.filter((scope) => catalog.isReserved(scope));
  if (reserved.length === 0) return null;
  return html`<fieldset>
      <legend>Reserved scopes</legend>
      <p>For the cases that need them.</p>
      ${scopeBoxes(reserved, form, '')}
      <label for="justification">Why they are needed</label>
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
        <small id="name-help">Where the key will be used.</small>
        ${faultAt('name', faults)}`;
}

function lifetimeField({ input, faults }: NewKeyForm): Html {
  return html`<label for="lifetime">Expires after</label>
        <select id="lifetime" name="lifetime"${marks('expiresAt', faults)}>
          ${options(LIFETIMES, input.lifetime)}</select>
        ${faultAt('expiresAt', faults)}`;
}

export function newKeyPage(member: Member, form: NewKeyForm): Html {
  const content = html`<dialog open aria-labelledby="title">
      <h1 id="title">Create API Key</h1>
      ${alert(summary(form.faults))}
      <form method="post" action="${KEYS}" class="fields">
        <input type="hidden" name="once" value="${form.once}">
        ${nameField(form)}
        ${plainScopes(form)}
        ${reservedScopes(form)}
        ${lifetimeField(form)}
        <p class="actions"><button class="button">Create</button>
          <a href="${KEYS}">Cancel</a></p>
      </form>
    </dialog>`;
  return page('Create API Key', member, TO_KEYS, content);
}
