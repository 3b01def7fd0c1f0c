/**
 * The frame around all pages of the console, and the pieces that they share. Pages turn data into
 * HTML and decide nothing. The template escapes every value.
 */
import { html } from 'hono/html';
import { BASE, KEYS, SIGN_OUT } from '../paths.ts';
import type { Member } from '../visit.ts';

export type Html = ReturnType<typeof html>;

/** One level of the path at the top of a page. */
export interface Step {
  readonly name: string;
  /** Where the level leads; `null` if it has no page of its own. */
  readonly path: string | null;
}
export type Trail = readonly Step[];

export const TO_HOME: Trail = [{ name: 'Console', path: BASE }];
export const TO_KEYS: Trail = [
  { name: 'Settings', path: null },
  { name: 'Configuration', path: null },
  { name: 'API Keys', path: KEYS },
];

function step({ name, path }: Step): Html {
  return html`<li>${path === null ? name : html`<a href="${path}">${name}</a>`}</li>`;
}

const account = ({ user }: Member): Html => html`<form method="post" action="${SIGN_OUT}">
      <span>${user.email}, ${user.role}</span> <button>Sign out</button>
    </form>`;

/** Returns a whole document. `member` is the visitor; `null` before the sign-in. */
export function page(title: string, member: Member | null, trail: Trail, content: Html): Html {
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
    <header>
      <nav aria-label="Breadcrumb"><ol>${trail.map(step)}</ol></nav>
      ${member && account(member)}
    </header>
    <main>${content}</main>
  </body>
</html>`;
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
  const trail = member === null ? TO_HOME : TO_KEYS;
  return page(title, member, trail, html`<h1>${title}</h1><p>${words}</p>`);
}
