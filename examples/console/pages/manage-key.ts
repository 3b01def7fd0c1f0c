/** The forms that rotate, suspend, resume and revoke a key. */
import { html } from 'hono/html';
import type { KeyInfo } from 'keyscope';
import { KEYS } from '../paths.ts';
import type { SignedIn } from '../visit.ts';
import type { Html } from './frame.ts';
import { form, options } from './frame.ts';
import { scopeName } from './key-state.ts';
import { LIFETIMES } from './new-key.ts';

/** How long the old key keeps working after a rotation, by hours. */
const OVERLAPS: Readonly<Record<string, string>> = {
  0: 'Stops working at once',
  1: 'Works for another hour',
  24: 'Works for another day',
  168: 'Works for another week',
};

/** The same, as the notice after a rotation says it. Other overlaps are not accepted. */
export const ROTATED: ReadonlyMap<string, string> = new Map([
  ['0', 'The old key no longer works.'],
  ['1', 'The old key works for another hour.'],
  ['24', 'The old key works for another day.'],
  ['168', 'The old key works for another week.'],
]);

function scopeBox(scope: string, unused: readonly string[]): Html {
  const checked = unused.includes(scope) ? '' : html` checked`;
  return html`<label class="scope">
      <input type="checkbox" name="scopes" value="${scope}"${checked}>
      <span>${scopeName(scope)}</span>
    </label>`;
}

/** Only for a key with unused scopes: the new key can do without them. */
function keptScopes({ scopes }: KeyInfo, unused: readonly string[]): Html | null {
  if (unused.length === 0) return null;
  return html`<fieldset>
          <legend>Scopes of the new key</legend>
          <p>Scopes unused for 90 days start unchecked.</p>
          <input type="hidden" name="narrow" value="yes">
          ${scopes.map((scope) => scopeBox(scope, unused))}
        </fieldset>`;
}

function rotateForm(key: KeyInfo, unused: readonly string[]): Html {
  return html`${keptScopes(key, unused)}
      <label for="overlap">The old key</label>
      <select id="overlap" name="overlap">${options(OVERLAPS, '24')}</select>
      <label for="lifetime">Expiry of the new key</label>
      <select id="lifetime" name="lifetime">
        <option value="">Same as the old key</option>
        ${options(LIFETIMES, '')}</select>
      <p class="actions"><button name="action" value="rotate">Rotate key</button></p>`;
}

function reasonField(id: string): Html {
  return html`<label for="${id}">Reason (optional; others can read it)</label>
      <input id="${id}" name="reason" maxlength="200" autocomplete="off">`;
}

const SUSPEND = html`${reasonField('suspend-reason')}
      <p><button name="action" value="suspend">Suspend</button></p>`;

const RESUME = html`<p><button name="action" value="resume">Resume</button></p>`;

function revokeForm({ rotatedFrom, retireAt }: KeyInfo): Html {
  const hasKin = rotatedFrom !== null || retireAt !== null;
  const related = html`<p>Related keys are those that this key was rotated from or to, and those
          that were created on their authority.</p>`;
  const all = html`<button name="action" value="revoke-lineage" class="grave">Revoke with all
          related keys</button>`;
  return html`<details>
        <summary>Revoke…</summary>
        <p>All requests with the key are refused. You cannot undo this.</p>
        ${hasKin && related}
        <div class="fields">${reasonField('revoke-reason')}</div>
        <p class="actions"><button name="action" value="revoke" class="grave">Revoke</button>
          ${hasKin && all}</p>
      </details>`;
}

export function manageForm(member: SignedIn, key: KeyInfo, unused: readonly string[]): Html {
  // A keyless key has no secret to replace.
  const canBeRotated = key.state === 'live' && key.retireAt === null && key.trust === null;
  const post = (content: Html): Html => form(member, `${KEYS}/${key.keyId}`, content);
  const rotate = html`<h2>Rotate key</h2>
    <p>Rotating creates a new key, which you then use instead of this one.</p>
    ${post(rotateForm(key, unused))}`;
  const suspend = html`<h2>Suspend key</h2>
    <p>Requests with the key are refused until someone resumes it.</p>
    ${post(SUSPEND)}`;
  const resume = html`<h2>Resume key</h2>
    ${post(RESUME)}`;
  return html`${canBeRotated && rotate}
    ${key.state === 'live' && suspend}
    ${key.state === 'suspended' && resume}
    <h2>Revoke key</h2>
    ${post(revokeForm(key))}`;
}

export function damagedForm(member: SignedIn, keyId: string): Html {
  const content = html`${reasonField('revoke-reason')}
      <p><button name="action" value="revoke" class="grave">Revoke</button></p>`;
  return form(member, `${KEYS}/${keyId}`, content);
}
