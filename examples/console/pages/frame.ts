/**
 * What all pages of the console have around them. Pages are HTML from data, without any decisions.
 * The template escapes whatever is put into it.
 */
import { html } from 'hono/html';
import { BASE, CONFIGURATION, KEYS, SETTINGS, SIGN_OUT } from '../paths.ts';
import type { Member } from '../visit.ts';

export type Html = ReturnType<typeof html>;

/** A page on the way from the first one. */
export interface Step {
  readonly path: string;
  readonly name: string;
}
export type Trail = readonly Step[];

export const TO_HOME: Trail = [{ path: BASE, name: 'Console' }];
export const TO_SETTINGS: Trail = [...TO_HOME, { path: SETTINGS, name: 'Settings' }];
export const TO_CONFIGURATION: Trail = [
  ...TO_SETTINGS,
  { path: CONFIGURATION, name: 'Configuration' },
];
export const TO_KEYS: Trail = [...TO_CONFIGURATION, { path: KEYS, name: 'API Keys' }];

const step = ({ path, name }: Step): Html => html`<li><a href="${path}">${name}</a></li>`;

const account = ({ user }: Member): Html => html`<form method="post" action="${SIGN_OUT}">
      <span>${user.email}, ${user.role}</span> <button>Sign out</button>
    </form>`;

/** A whole document. `member`: who is signed in, if anybody is. */
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
      <nav aria-label="Where you are"><ol>${trail.map(step)}</ol></nav>
      ${member && account(member)}
    </header>
    <main>${content}</main>
  </body>
</html>`;
}

/** What was wrong with a form; nothing if nothing was. */
export function alert(message: string | null): Html | null {
  if (message === null) return null;
  return html`<p role="alert">${message}</p>`;
}

/** Options of a `select`, by value, with the words for each. */
export function options(choices: Readonly<Record<string, string>>, chosen: string): Html[] {
  return Object.entries(choices).map(([value, words]) => {
    const selected = value === chosen ? html` selected` : '';
    return html`<option value="${value}"${selected}>${words}</option>`;
  });
}

/** A time, to the minute; `none` are the words for a time that is not set. */
export function time(date: Date | null, none = ''): Html | string {
  if (date === null) return none;
  const iso = date.toISOString();
  const day = iso.slice(0, 10);
  const minute = iso.slice(11, 16);
  return html`<time datetime="${iso}"><span>${day}</span> <small>${minute} UTC</small></time>`;
}

/** A cell of a table. It names its column, for narrow screens, on which each row is a list. */
export function cell(column: string, content: Html | readonly Html[] | string): Html {
  return html`<td data-column="${column}">${content}</td>`;
}

/** Only words: for what could not be served. */
export function messagePage(title: string, words: string, member: Member | null): Html {
  const trail = member === null ? TO_HOME : TO_KEYS;
  return page(title, member, trail, html`<h1>${title}</h1><p>${words}</p>`);
}
