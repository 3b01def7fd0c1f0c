/** The only page that contains a key. The script removes it when the visitor leaves the page. */
import { html } from 'hono/html';
import type { IssuedKey } from 'keyscope';
import { KEYS } from '../paths.ts';
import type { Member } from '../visit.ts';
import type { Html } from './frame.ts';
import { page, result } from './frame.ts';

/**
 * @param notice The sentence that reports how the key came to be.
 * @param api The base URL of the interface for programs.
 */
export function shownOncePage(
  member: Member,
  { key, info }: IssuedKey,
  notice: string,
  api: string,
): Html {
  const copyNow = 'Copy the new key now; you will not see it again.';
  const content = html`<dialog open aria-labelledby="title">
      <h1 id="title">${info.name}</h1>
      ${result(`${notice} ${copyNow}`)}
      <p class="key">
        <input id="key" value="${key}" aria-label="API key" readonly
          data-page="${KEYS}/${info.keyId}"
          autocomplete="off" spellcheck="false" size="${key.length}">
        <button type="button" class="button" data-copies="key">Copy</button>
        <span role="status"></span>
      </p>
      <p>The key is a secret: do not commit it to a repository or paste it into a support ticket.
        If you lose it, revoke it and create a new one. The list shows its last four characters,
        <code>${info.hint}</code>.</p>
      <p>Send it with every request: <code>Authorization: Bearer &lt;API_KEY&gt;</code>.
        To try it, call <code>GET ${api}/me</code>, which returns its scopes.</p>
      <p><a class="quiet button" href="${KEYS}">Done</a></p>
    </dialog>`;
  return page('Copy your new key', member, content);
}
