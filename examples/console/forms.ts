/** Shared by all forms that change keys: the authority, the answers, the rules of the fields. */
import { deleteCookie, getSignedCookie, setSignedCookie } from 'hono/cookie';
import type { GrantAuthority, IssuedKey } from 'keyscope';
import { isInputError } from 'keyscope';
import { LIFETIMES } from './pages/new-key.ts';
import { shownOncePage } from './pages/shown-once.ts';
import { type ConsoleService, isSecure } from './service.ts';
import type { Answer, Visit } from './visit.ts';
import { field, Refused } from './visit.ts';

/** Returns the authority of the session. Nothing that a form sends can change it. */
export function requireAuthority(c: Visit): GrantAuthority {
  const { authority } = c.var.member;
  if (authority === null)
    throw new Refused(403, 'Your role can only view keys. Ask an admin to create or revoke one.');
  return authority;
}

/** Returns the authority of the session, with the reason from the form. */
export function requireAuthorityWithReason(c: Visit): GrantAuthority {
  const reason = field(c, 'reason').trim();
  const authority = requireAuthority(c);
  return reason === '' ? authority : { ...authority, reason };
}

const DAY_MS = 24 * 3_600_000;

/**
 * Returns the expiry for a lifetime of the form. One that the form does not offer gives the present
 * time, which keyscope refuses.
 */
export function expiryOf(lifetime: string, now: number): Date | 'never' {
  if (lifetime === 'never') return lifetime;
  const days = Object.hasOwn(LIFETIMES, lifetime) ? Number(lifetime) : 0;
  return new Date(now + days * DAY_MS);
}

/**
 * Answers a form with the page that shows its new key, so that no process has to keep the key for
 * another request. Nothing remembers the form either. The script drops a second click and replaces
 * the address, so that a reload shows the key's own page. Without script, the browser asks before
 * it sends the form again. Agreeing creates a second key, which the list shows.
 */
export function showOnce(
  c: Visit,
  issued: IssuedKey,
  notice: string,
  { publicUrl }: ConsoleService,
): Answer {
  return c.html(shownOncePage(c.var.member, issued, notice, `${publicUrl}/v1`), 201);
}

/**
 * Redirects to a page, which shows the notice once. A cookie carries it to whichever process serves
 * that page. The session signs it, so that nobody else puts words on the page.
 */
export async function leadTo(
  c: Visit,
  path: string,
  notice: string,
  service: ConsoleService,
): Promise<Response> {
  const attributes = { path, maxAge: 60, httpOnly: true, sameSite: 'Strict' } as const;
  const options = { ...attributes, secure: isSecure(service) };
  await setSignedCookie(c, 'notice', notice, c.var.member.session, options);
  return c.redirect(path, 303);
}

/** Returns the notice for this page and removes it; `null` without one. */
export async function takeNotice(c: Visit): Promise<string | null> {
  const notice = await getSignedCookie(c, c.var.member.session, 'notice');
  if (!notice) return null;
  deleteCookie(c, 'notice', { path: c.req.path });
  return notice;
}

/** The rules that people read, by the names that keyscope has for the fields. */
const RULES: ReadonlyMap<string, string> = new Map([
  ['name', 'Write 1 to 100 characters. Invisible characters and API keys are not allowed.'],
  ['scopes', 'Select at least one of these scopes.'],
  ['expiresAt', 'Select one of these times.'],
  [
    'justification',
    'Say why the key needs the reserved scopes, in at most 500 characters. Invisible characters ' +
      'and API keys are not allowed.',
  ],
  [
    'reason',
    'Write a reason of at most 200 characters. Invisible characters and API keys are not allowed.',
  ],
  ['keyId', 'This is not the id of such a key. Open the key from the list.'],
]);

export function ruleFor(name: string): string {
  return RULES.get(name) ?? 'The console does not offer this. Open the page again.';
}

/** Runs a management call. An `InputError` is the visitor's mistake here, so it becomes a 400. */
export async function orRefused<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (isInputError(error)) throw new Refused(400, ruleFor(error.field));
    throw error;
  }
}
