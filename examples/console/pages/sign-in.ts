/** The pages of the sign-in with a link. */
import { html } from 'hono/html';
import { SIGN_IN } from '../paths.ts';
import type { Member } from '../visit.ts';
import type { Html } from './frame.ts';
import { alert, page } from './frame.ts';

/** Returns the page of an unused link. Opening it changes nothing; its button signs in. */
export function signInPage(link: string, { user }: Member): Html {
  const content = html`<h1>Sign in</h1>
      <form method="post" action="${SIGN_IN}" class="fields">
        <input type="hidden" name="link" value="${link}">
        <p>This link signs you in as ${user.email}. It works once.</p>
        <p><button class="button">Sign in</button></p>
      </form>`;
  return page('Sign in', null, content);
}

/** @param problem The problem with the link; `null` for a visitor without a link. */
export function noLinkPage(problem: string | null): Html {
  const content = html`<h1>Sign in</h1>
      ${alert(problem)}
      <p>Open the link that the demo printed when it started. It works once, within 15 minutes.</p>
      <p>To get a new link, stop the demo and start it again.</p>`;
  return page('Sign in', null, content);
}
