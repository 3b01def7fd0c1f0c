/** The page where a visitor signs in. */
import { html } from 'hono/html';
import { SIGN_IN } from '../paths.ts';
import type { Html } from './frame.ts';
import { alert, page, TO_HOME } from './frame.ts';

/** @param email What was entered before, if it was wrong. */
export function signInPage(error: string | null, email: string): Html {
  const content = html`<h1>Sign in</h1>
      <form method="post" action="${SIGN_IN}" class="fields">
        ${alert(error)}
        <label for="email">Email</label>
        <input id="email" name="email" type="email" value="${email}"
          autocomplete="username" required>
        <label for="password">Password</label>
        <input id="password" name="password" type="password"
          autocomplete="current-password" required>
        <p><button class="button">Sign in</button></p>
      </form>`;
  return page('Sign in', null, TO_HOME, content);
}
