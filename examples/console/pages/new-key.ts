/** Making a key: the form for it, and the page that shows it once. */
import { html } from 'hono/html';
import type { KeyInfo } from 'keyscope';
import type { Member } from '../../platform/host/accounts.ts';
import { catalog } from '../../platform/service/catalog.ts';
import { KEYS } from '../paths.ts';
import type { Html } from './frame.ts';
import { alert, options, page, TO_KEYS } from './frame.ts';

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
  /** Scopes that the member may grant. */
  readonly offered: readonly string[];
  /** What allows this form to make one key. */
  readonly once: string;
  readonly input: NewKey;
  /** What was wrong with the input, if it was sent before. */
  readonly error: string | null;
}

function scopeBox(scope: string, { scopes }: NewKey): Html {
  const checked = scopes.includes(scope) ? html` checked` : '';
  return html`<label class="scope">
      <input type="checkbox" name="scopes" value="${scope}"${checked}>
      <span><code>${scope}</code> ${catalog.describe(scope)}</span>
    </label>`;
}

function plainScopes(offered: readonly string[], input: NewKey): Html {
  const plain = offered.filter((scope) => !catalog.isReserved(scope));
  return html`<fieldset>
          <legend>Scopes</legend>
          <p>Grant only what the integration calls. They cannot be changed afterwards.</p>
          ${plain.map((scope) => scopeBox(scope, input))}
        </fieldset>`;
}

/** Nothing for a member who may grant none of them. */
function reservedScopes(offered: readonly string[], input: NewKey): Html | null {
  const reserved = offered.filter((scope) => catalog.isReserved(scope));
  if (reserved.length === 0) return null;
  return html`<fieldset>
      <legend>Reserved scopes</legend>
      <p>For the cases that need them.</p>
      ${reserved.map((scope) => scopeBox(scope, input))}
      <label for="justification">Why they are needed</label>
      <textarea id="justification" name="justification" maxlength="500" rows="2">${
        input.justification
      }</textarea>
    </fieldset>`;
}

export function newKeyPage(member: Member, { offered, once, input, error }: NewKeyForm): Html {
  const content = html`<dialog open aria-labelledby="title">
      <h1 id="title">Create API Key</h1>
      ${alert(error)}
      <form method="post" action="${KEYS}" class="fields">
        <input type="hidden" name="once" value="${once}">
        <label for="name">Name</label>
        <input id="name" name="name" value="${input.name}" maxlength="100"
          autocomplete="off" required aria-describedby="name-help">
        <small id="name-help">Where the key will be used.</small>
        ${plainScopes(offered, input)}
        ${reservedScopes(offered, input)}
        <label for="lifetime">Expires after</label>
        <select id="lifetime" name="lifetime">${options(LIFETIMES, input.lifetime)}</select>
        <p><button class="button">Create</button> <a href="${KEYS}">Cancel</a></p>
      </form>
    </dialog>`;
  return page('Create API Key', member, TO_KEYS, content);
}

/** The only page with a key. The script removes it when the page is left. */
export function shownOncePage(member: Member, key: string, info: KeyInfo, api: string): Html {
  const content = html`<dialog open aria-labelledby="title">
      <h1 id="title">Copy the key of ${info.name}</h1>
      <p>It is not shown again: who loses it revokes it and makes another. It is a secret, for no
        repository and no ticket.</p>
      <p class="key">
        <input id="key" value="${key}" aria-label="API key" readonly
          autocomplete="off" spellcheck="false" size="${key.length}">
        <button type="button" data-copies="key">Copy</button> <span role="status"></span>
      </p>
      <p>Send it with every request: <code>Authorization: Bearer &lt;API_KEY&gt;</code>.
        <code>GET ${api}/me</code> shows what it reaches.</p>
      <p><a class="button" href="${KEYS}">Done</a></p>
    </dialog>`;
  return page('Copy the key', member, TO_KEYS, content);
}
