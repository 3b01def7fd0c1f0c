/** The forms that rotate, suspend, resume and revoke a key. */
import { html } from 'hono/html';
import type { KeyInfo } from 'keyscope';
import { KEYS } from '../paths.ts';
import type { Html } from './frame.ts';
import { options } from './frame.ts';
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

function rotateForm(key: KeyInfo, unused: readonly string[], once: string): Html {
  return html`<h2>Rotate key</h2>
    <p>Rotating creates a new key, which you then use instead of this one.</p>
    <form method="post" action="${KEYS}/${key.keyId}" class="fields">
      <input type="hidden" name="once" value="${once}">
      ${keptScopes(key, unused)}
      <label for="overlap">The old key</label>
      <select id="overlap" name="overlap">${options(OVERLAPS, '24')}</select>
      <label for="lifetime">The new key expires after</label>
      <select id="lifetime" name="lifetime">
        <option value="">The same time as the old key</option>
        ${options(LIFETIMES, '')}</select>
      <p class="actions"><button name="action" value="rotate">Rotate key</button></p>
    </form>`;
}

function reasonField(id: string): Html {
  return html`<label for="${id}">Reason (optional; others can read it)</label>
      <input id="${id}" name="reason" maxlength="200" autocomplete="off">`;
}

function suspendForm({ keyId }: KeyInfo): Html {
  return html`<h2>Suspend key</h2>
    <p>Requests with the key are refused until someone resumes it.</p>
    <form method="post" action="${KEYS}/${keyId}" class="fields">
      ${reasonField('suspend-reason')}
      <p><button name="action" value="suspend">Suspend</button></p>
    </form>`;
}

function resumeForm({ keyId }: KeyInfo): Html {
  return html`<h2>Resume key</h2>
    <form method="post" action="${KEYS}/${keyId}" class="fields">
      <p><button name="action" value="resume">Resume</button></p>
    </form>`;
}

function revokeForm({ keyId, rotatedFrom, retireAt }: KeyInfo): Html {
  const hasKin = rotatedFrom !== null || retireAt !== null;
  const related = html`<p>Related keys are those that this key was rotated from or to, and those
          that were created on their authority.</p>`;
  const all = html`<button name="action" value="revoke-lineage" class="grave">Revoke with all
          related keys</button>`;
  return html`<h2>Revoke key</h2>
    <form method="post" action="${KEYS}/${keyId}" class="fields">
      <details>
        <summary>Revoke…</summary>
        <p>All requests with the key are refused. You cannot undo this.</p>
        ${hasKin && related}
        <div class="fields">${reasonField('revoke-reason')}</div>
        <p class="actions"><button name="action" value="revoke" class="grave">Revoke</button>
          ${hasKin && all}</p>
      </details>
    </form>`;
}

export function manageForm(key: KeyInfo, unused: readonly string[], once: string): Html {
  // A keyless key has no secret to replace.
  const canBeRotated = key.state === 'live' && key.retireAt === null && key.trust === null;
  return html`${canBeRotated && rotateForm(key, unused, once)}
    ${key.state === 'live' && suspendForm(key)}
    ${key.state === 'suspended' && resumeForm(key)}
    ${revokeForm(key)}`;
}

export function damagedForm(keyId: string): Html {
  return html`<form method="post" action="${KEYS}/${keyId}" class="fields">
      ${reasonField('revoke-reason')}
      <p><button name="action" value="revoke" class="grave">Revoke</button></p>
    </form>`;
}
