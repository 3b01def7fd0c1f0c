/** The only page with a key. The script removes it when the page is left. */
import { html } from 'hono/html';
import type { IssuedKey } from 'keyscope';
import { KEYS } from '../paths.ts';
import type { Member } from '../visit.ts';
import type { Html } from './frame.ts';
import { page, TO_KEYS } from './frame.ts';

/** @param api Where the interface for programs is. */
export function shownOncePage(member: Member, { key, info }: IssuedKey, api: string): Html {
  const content = html`<dialog open aria-labelledby="title">
      <h1 id="title">Copy the key of ${info.name}</h1>
      <p>It is not shown again: who loses it revokes it and makes another. It is a secret, for no
        repository and no ticket. Later, you know it by its end, <code>${info.hint}</code>.</p>
      <p class="key">
        <input id="key" value="${key}" aria-label="API key" readonly
          autocomplete="off" spellcheck="false" size="${key.length}">
        <button type="button" class="button" data-copies="key">Copy</button>
        <span role="status"></span>
      </p>
      <p>Send it with every request: <code>Authorization: Bearer &lt;API_KEY&gt;</code>.</p>
      <p><code>GET ${api}/me</code> shows what it reaches.</p>
      <p><a class="quiet button" href="${KEYS}">Done</a></p>
    </dialog>`;
  return page('Copy the key', member, TO_KEYS, content);
}
