/**
 * The frame around all pages of the console, and the pieces that they share. Pages turn data into
 * HTML and decide nothing. The template escapes every value.
 */
import { html } from 'hono/html';
import { BASE, KEYS, SIGN_OUT } from '../paths.ts';
import { csrfTokenOf } from '../sessions.ts';
import type { Member, SignedIn } from '../visit.ts';

export type Html = ReturnType<typeof html>;

const header = ({ user }: Member): Html => html`<header>
      <nav><a href="${KEYS}">API Keys</a></nav>
      <form method="post" action="${SIGN_OUT}">
        <span>${user.email}, ${user.role}</span> <button>Sign out</button>
      </form>
    </header>`;

/** Returns a whole document. `member` is the visitor; `null` before the sign-in. */
export function page(title: string, member: Member | null, content: Html): Html {
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title} – Deception platform</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${BASE}/style">
    <script src="${BASE}/script" defer></script>
  </head>
  <body>
    ${member && header(member)}
    <main>${content}</main>
  </body>
</html>`;
}

/** Returns a form that changes something. It works only in the session that opened its page. */
export function form(member: SignedIn, path: string, content: Html): Html {
  return html`<form method="post" action="${path}" class="fields">
      <input type="hidden" name="csrf" value="${csrfTokenOf(member)}">
      ${content}
    </form>`;
}

/** Returns the message about a mistake; nothing for `null`. */
export function alert(message: string | null): Html | null {
  if (message === null) return null;
  return html`<p role="alert">${message}</p>`;
}

/** Returns the result of an action; nothing for `null`. */
export function result(notice: string | null): Html | null {
  if (notice === null) return null;
  return html`<p role="status" class="notice">${notice}</p>`;
}

/** Returns the options of a `select`. `choices` has the label of each value. */
export function options(choices: Readonly<Record<string, string>>, chosen: string): Html[] {
  return Object.entries(choices).map(([value, words]) => {
    const selected = value === chosen ? html` selected` : '';
    return html`<option value="${value}"${selected}>${words}</option>`;
  });
}

/** Returns a time, to the minute; `none` if it is not set. */
export function time(date: Date | null, none = ''): Html | string {
  if (date === null) return none;
  const iso = date.toISOString();
  const day = iso.slice(0, 10);
  const minute = iso.slice(11, 16);
  return html`<time datetime="${iso}"><span>${day}</span> <small>${minute} UTC</small></time>`;
}

/** Returns a cell. It names its column, because narrow screens show each row as a list. */
export function cell(column: string, content: Html | readonly Html[] | string): Html {
  return html`<td data-column="${column}">${content}</td>`;
}

export type NameOf = (entityId: string) => string | null;

/** Returns the name of an organization, or its UUID if it has no name here. */
export function organization(entityId: string, nameOf: NameOf): Html | string {
  return nameOf(entityId) ?? html`<code>${entityId}</code>`;
}

/** Returns a page with a message, for requests that the console cannot serve. */
export function messagePage(title: string, words: string, member: Member | null): Html {
  return page(title, member, html`<h1>${title}</h1><p>${words}</p>`);
}
