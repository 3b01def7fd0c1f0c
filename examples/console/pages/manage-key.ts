/** The forms that replace, suspend and end a key. */
import { html } from 'hono/html';
import type { KeyInfo } from 'keyscope';
import { KEYS } from '../paths.ts';
import type { Html } from './frame.ts';
import { options } from './frame.ts';
import { scopeName } from './key-state.ts';

/** How long the old key lives on after a rotation, in hours. */
export const OVERLAPS = {
  0: 'Ends at once',
  1: 'One hour',
  24: 'One day',
  168: 'One week',
} as const;

function scopeBox(scope: string, unused: readonly string[]): Html {
  const checked = unused.includes(scope) ? '' : html` checked`;
  return html`<label class="scope">
      <input type="checkbox" name="scopes" value="${scope}"${checked}>
      <span>${scopeName(scope)}</span>
    </label>`;
}

/** Only where scopes are unused: the new key can do without them. */
function keptScopes({ scopes }: KeyInfo, unused: readonly string[]): Html | null {
  if (unused.length === 0) return null;
  return html`<fieldset>
          <legend>Keep these scopes</legend>
          <p>Those without a tick have not been used for 90 days.</p>
          <input type="hidden" name="narrow" value="yes">
          ${scopes.map((scope) => scopeBox(scope, unused))}
        </fieldset>`;
}

function replaceForm(key: KeyInfo, unused: readonly string[], once: string): Html {
  return html`<h2>Replace it</h2>
    <form method="post" action="${KEYS}/${key.keyId}" class="fields">
      <input type="hidden" name="once" value="${once}">
      ${keptScopes(key, unused)}
      <label for="overlap">The old key, once it is replaced</label>
      <select id="overlap" name="overlap">${options(OVERLAPS, '24')}</select>
      <p class="actions"><button name="action" value="rotate">Replace by a new key</button></p>
    </form>`;
}

function reasonField(id: string): Html {
  return html`<label for="${id}">Why (others will read it)</label>
      <input id="${id}" name="reason" maxlength="200" autocomplete="off">`;
}

function suspendForm({ keyId, state }: KeyInfo): Html {
  const isSuspended = state === 'suspended';
  const words = isSuspended
    ? html`<h2>Take it back into use</h2>`
    : html`<h2>Suspend it</h2>
    <p>Whatever uses the key is refused until somebody takes it back into use.</p>`;
  const action = isSuspended ? 'resume' : 'suspend';
  return html`${words}
    <form method="post" action="${KEYS}/${keyId}" class="fields">
      ${!isSuspended && reasonField('why-suspend')}
      <p><button name="action" value="${action}">${isSuspended ? 'Resume' : 'Suspend'}</button></p>
    </form>`;
}

function revokeForm({ keyId, rotatedFrom, retireAt }: KeyInfo): Html {
  const hasKin = rotatedFrom !== null || retireAt !== null;
  const all = html`<button name="action" value="revoke-lineage" class="grave">Revoke it, and all
          that it was rotated from and to</button>`;
  return html`<h2>End it</h2>
    <form method="post" action="${KEYS}/${keyId}" class="fields">
      <details>
        <summary>Revoke</summary>
        <p>Whatever uses the key is refused from then on, and nothing brings it back.</p>
        <div class="fields">${reasonField('why-revoke')}</div>
        <p class="actions"><button name="action" value="revoke" class="grave">Revoke for
          good</button> ${hasKin && all}</p>
      </details>
    </form>`;
}

export function manageForm(key: KeyInfo, unused: readonly string[], once: string): Html {
  const canBeReplaced = key.state === 'live' && key.retireAt === null;
  const canBeSuspended = key.state === 'live' || key.state === 'suspended';
  return html`${canBeReplaced && replaceForm(key, unused, once)}
    ${canBeSuspended && suspendForm(key)}
    ${revokeForm(key)}`;
}

export function damagedForm(keyId: string): Html {
  return html`<form method="post" action="${KEYS}/${keyId}" class="fields">
      ${reasonField('why-revoke')}
      <p><button name="action" value="revoke" class="grave">Revoke for good</button></p>
    </form>`;
}
