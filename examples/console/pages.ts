/**
 * What the console shows: HTML from data, without any decisions. The template escapes whatever is
 * put into it.
 */
import { html } from 'hono/html';
import type { KeyInfo } from 'keyscope';
import type { Member } from '../platform/host/accounts.ts';
import { catalog } from '../platform/service/catalog.ts';

export type Html = ReturnType<typeof html>;

export const BASE = '/console';
export const KEYS = `${BASE}/settings/configuration/api-keys`;

/** How long a new key may live, in days. */
export const LIFETIMES = {
  30: '30 days',
  90: '90 days',
  365: 'One year',
  never: 'No end',
} as const;
/** How long the old key lives on after a rotation, in hours. */
export const OVERLAPS = {
  0: 'Ends at once',
  1: 'One hour',
  24: 'One day',
  168: 'One week',
} as const;

// ── Frame ─────────────────────────────────────────────────────────────────────────────────────────────

/** The path from the first page to a page: address and name of each. */
type Trail = readonly (readonly [path: string, name: string])[];

const HOME: Trail = [[BASE, 'Console']];
const SETTINGS: Trail = [...HOME, [`${BASE}/settings`, 'Settings']];
const CONFIGURATION: Trail = [...SETTINGS, [`${BASE}/settings/configuration`, 'Configuration']];
const API_KEYS: Trail = [...CONFIGURATION, [KEYS, 'API Keys']];

function page(title: string, member: Member | null, trail: Trail, content: Html): Html {
  const account =
    member &&
    html`<form method="post" action="${BASE}/sign-out">
      <span>${member.user.email}, ${member.user.role}</span> <button>Sign out</button>
    </form>`;
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
      <nav aria-label="Where you are"><ol>${trail.map(([path, name]) => html`<li><a href="${path}">${name}</a></li>`)}</ol></nav>
      ${account}
    </header>
    <main>${content}</main>
  </body>
</html>`;
}

const alert = (message: string | null) => message && html`<p role="alert">${message}</p>`;

/** Only words: for what could not be served. */
export const messagePage = (title: string, words: string, member: Member | null): Html =>
  page(title, member, member ? API_KEYS : HOME, html`<h1>${title}</h1><p>${words}</p>`);

// ── Signing in, and the way to the keys ───────────────────────────────────────────────────────────────

export const signInPage = (error: string | null, email: string): Html =>
  page(
    'Sign in',
    null,
    HOME,
    html`<h1>Sign in</h1>
      ${alert(error)}
      <form method="post" action="${BASE}/sign-in" class="fields">
        <label for="email">Email</label>
        <input id="email" name="email" type="email" value="${email}" autocomplete="username" required>
        <label for="password">Password</label>
        <input id="password" name="password" type="password" autocomplete="current-password" required>
        <p><button class="button">Sign in</button></p>
      </form>`,
  );

const menu =
  (title: string, trail: Trail, [path, name]: Trail[number], words: string) =>
  (member: Member) =>
    page(
      title,
      member,
      trail,
      html`<h1>${title}</h1><ul class="menu"><li><a href="${path}">${name}</a> ${words}</li></ul>`,
    );

/** Pages that only lead to others, by path. */
export const MENUS: Readonly<Record<string, (member: Member) => Html>> = {
  [BASE]: menu('Console', HOME, [`${BASE}/settings`, 'Settings'], 'How the platform is set up.'),
  [`${BASE}/settings`]: menu(
    'Settings',
    SETTINGS,
    [`${BASE}/settings/configuration`, 'Configuration'],
    'What it works with.',
  ),
  [`${BASE}/settings/configuration`]: menu(
    'Configuration',
    CONFIGURATION,
    [KEYS, 'API Keys'],
    'Access for programs.',
  ),
};

// ── Keys ──────────────────────────────────────────────────────────────────────────────────────────────

const time = (date: Date | null, none: string): Html | string => {
  if (date === null) return none;
  const iso = date.toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`;
};

function state(
  { revokedAt, retireAt, expiresAt }: KeyInfo,
  now: number,
): { ended: boolean; words: string } {
  const past = (date: Date | null) => date !== null && date.getTime() <= now;
  if (revokedAt !== null) return { ended: true, words: 'Revoked' };
  if (past(expiresAt)) return { ended: true, words: 'Expired' };
  if (past(retireAt)) return { ended: true, words: 'Replaced' };
  return { ended: false, words: retireAt === null ? 'Active' : 'Replaced, in its overlap' };
}

const scopeList = (scopes: readonly string[]) =>
  scopes.length > 0 ? scopes.map((scope) => html`<code>${scope}</code> `) : 'none: /me alone';

export function keysPage(
  member: Member,
  keys: readonly KeyInfo[],
  next: string | null,
  now: number,
): Html {
  const row = (key: KeyInfo) => html`<tr>
      <th scope="row"><a href="${KEYS}/${key.keyId}">${key.name} <small>${key.keyId}</small></a></th>
      <td>${state(key, now).words}</td>
      <td>${scopeList(key.scopes)}</td>
      <td>${time(key.createdAt, '')}</td>
      <td>${time(key.expiresAt, 'never')}</td>
      <td>${time(key.lastUsedAt, 'never')}</td>
    </tr>`;
  return page(
    'API Keys',
    member,
    API_KEYS,
    html`<h1>API Keys</h1>
      ${member.authority && html`<p><a class="button" href="${KEYS}/new">Create API Key</a></p>`}
      <div class="wide" tabindex="0" role="region" aria-label="Keys">
        <table>
          <thead><tr>${['Name', 'State', 'Scopes', 'Created', 'Expires', 'Last used'].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
          <tbody>${keys.length > 0 ? keys.map(row) : html`<tr><td colspan="6">There are no keys.</td></tr>`}</tbody>
        </table>
      </div>
      ${next && html`<p><a href="${KEYS}?after=${encodeURIComponent(next)}">Older keys</a></p>`}`,
  );
}

/** What was entered in the form for a new key. */
export interface NewKey {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly lifetime: string;
  readonly justification: string;
}

const options = (choices: Readonly<Record<string, string>>, chosen: string) =>
  Object.entries(choices).map(
    ([value, words]) =>
      html`<option value="${value}"${value === chosen ? html` selected` : ''}>${words}</option>`,
  );

/**
 * @param offered Scopes that the member may grant. @param once What allows this form to make one
 * key.
 */
export function newKeyPage(
  member: Member,
  offered: readonly string[],
  once: string,
  input: NewKey,
  error: string | null,
): Html {
  const box = (scope: string) => html`<label class="scope">
      <input type="checkbox" name="scopes" value="${scope}"${input.scopes.includes(scope) ? html` checked` : ''}>
      <span><code>${scope}</code> ${catalog.describe(scope)}</span>
    </label>`;
  const [reserved, plain] = [
    offered.filter(catalog.isReserved),
    offered.filter((scope) => !catalog.isReserved(scope)),
  ];
  const reservedFields = html`<fieldset>
      <legend>Reserved scopes</legend>
      <p>For the cases that need them.</p>
      ${reserved.map(box)}
      <label for="justification">Why they are needed</label>
      <textarea id="justification" name="justification" maxlength="500" rows="2">${input.justification}</textarea>
    </fieldset>`;
  return page(
    'Create API Key',
    member,
    API_KEYS,
    html`<dialog open aria-labelledby="title">
      <h1 id="title">Create API Key</h1>
      ${alert(error)}
      <form method="post" action="${KEYS}" class="fields">
        <input type="hidden" name="once" value="${once}">
        <label for="name">Name</label>
        <input id="name" name="name" value="${input.name}" maxlength="100" autocomplete="off" required aria-describedby="name-help">
        <small id="name-help">Where the key will be used.</small>
        <fieldset>
          <legend>Scopes</legend>
          <p>Grant only what the integration calls. They cannot be changed afterwards.</p>
          ${plain.map(box)}
        </fieldset>
        ${reserved.length > 0 && reservedFields}
        <label for="lifetime">Expires after</label>
        <select id="lifetime" name="lifetime">${options(LIFETIMES, input.lifetime)}</select>
        <p><button class="button">Create</button> <a href="${KEYS}">Cancel</a></p>
      </form>
    </dialog>`,
  );
}

/** The only page with a key. The script removes it when the page is left. */
export const shownOncePage = (member: Member, key: string, info: KeyInfo, api: string): Html =>
  page(
    'Copy the key',
    member,
    API_KEYS,
    html`<dialog open aria-labelledby="title">
      <h1 id="title">Copy the key of ${info.name}</h1>
      <p>It is not shown again: who loses it revokes it and makes another. It is a secret, for no repository and no ticket.</p>
      <p class="key">
        <input id="key" value="${key}" aria-label="API key" readonly autocomplete="off" spellcheck="false" size="${key.length}">
        <button type="button" data-copies="key">Copy</button> <span role="status"></span>
      </p>
      <p>Send it with every request: <code>Authorization: Bearer &lt;API_KEY&gt;</code>. <code>GET ${api}/me</code> shows what it reaches.</p>
      <p><a class="button" href="${KEYS}">Done</a></p>
    </dialog>`,
  );

/** @param unused Scopes that the integration has not called for long. */
export function keyPage(
  member: Member,
  key: KeyInfo,
  unused: readonly string[],
  once: string,
  now: number,
): Html {
  const { ended, words } = state(key, now);
  const scope = (name: string) => html`<tr>
      <th scope="row"><code>${name}</code></th>
      <td>${catalog.all.some((known) => known === name) ? catalog.describe(name) : 'The platform has it no longer; it grants nothing.'}</td>
      <td>${time(key.scopesUsed[name] ?? null, 'never')}${unused.includes(name) ? ' – a new key could do without' : ''}</td>
    </tr>`;
  const facts = {
    'Key id': html`<code>${key.keyId}</code>`,
    State: words,
    Organizations: key.accessibleEntities.map((entity) => html`<code>${entity}</code> `),
    Created: time(key.createdAt, ''),
    Expires: time(key.expiresAt, 'never'),
    'Last used': time(key.lastUsedAt, 'never'),
    ...(key.retireAt && { Replaced: html`ends ${time(key.retireAt, '')}` }),
    ...(key.rotatedFrom && {
      Replaces: html`<a href="${KEYS}/${key.rotatedFrom}">its predecessor</a>`,
    }),
    ...(key.justification !== null && { Justification: key.justification }),
  };
  const manage = html`<h2>End or replace it</h2>
    <form method="post" action="${KEYS}/${key.keyId}" class="fields">
      <input type="hidden" name="once" value="${once}">
      ${
        key.retireAt === null &&
        html`<label for="overlap">The old key, once it is replaced</label>
        <select id="overlap" name="overlap">${options(OVERLAPS, '24')}</select>
        <p><button name="action" value="rotate">Replace by a new key</button></p>`
      }
      <details>
        <summary>Revoke</summary>
        <p>Whatever uses the key is refused from then on, and nothing brings it back.</p>
        <p><button name="action" value="revoke" class="grave">Revoke for good</button></p>
      </details>
    </form>`;
  return page(
    key.name,
    member,
    API_KEYS,
    html`<h1>${key.name}</h1>
      <dl>${Object.entries(facts).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
      <h2>Scopes</h2>
      ${
        key.scopes.length > 0
          ? html`<div class="wide" tabindex="0" role="region" aria-label="Scopes"><table>
          <thead><tr><th scope="col">Scope</th><th scope="col">Allows</th><th scope="col">Last used</th></tr></thead>
          <tbody>${key.scopes.map(scope)}</tbody>
        </table></div>`
          : html`<p>None: the key opens <code>/me</code> alone.</p>`
      }
      ${member.authority && !ended && manage}`,
  );
}
