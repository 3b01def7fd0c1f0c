/** Shared by all forms that change keys: the authority, single use, and the notice afterwards. */
import { randomUUID } from 'node:crypto';
import type { GrantAuthority, IssuedKey } from 'keyscope';
import { isInputError } from 'keyscope';
import { LIFETIMES } from './pages/new-key.ts';
import { KEYS } from './paths.ts';
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

export function openForm(c: Visit): string {
  const once = randomUUID();
  c.var.session.forms.set(once, true);
  return once;
}

export function closeForm(c: Visit): void {
  const wasOpen = c.var.session.forms.delete(field(c, 'once'));
  if (wasOpen) return;
  const words = 'You already sent this form, or it is too old.';
  throw new Refused(409, `${words} If it created a key that you did not see, revoke that key.`);
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

/** Redirects to a page, which shows the notice once. */
export function leadTo(c: Visit, path: string, notice: string): Response {
  c.var.session.notices.set(path, notice);
  return c.redirect(path, 303);
}

/** Returns the notice for a page and forgets it; `null` without one. */
export function takeNotice(c: Visit, path: string): string | null {
  const { notices } = c.var.session;
  const notice = notices.get(path) ?? null;
  notices.delete(path);
  return notice;
}

/**
 * Redirects to the page that shows a new key. The key waits in memory, so that going back does not
 * send the form again.
 */
export function leadToNewKey(c: Visit, issued: IssuedKey, notice: string): Answer {
  const { keyId } = issued.info;
  c.var.session.newKeys.set(keyId, { issued, notice });
  return c.redirect(`${KEYS}/${keyId}/new`, 303);
}

/** Runs a management call. An `InputError` is the visitor's mistake here, so it becomes a 400. */
export async function orRefused<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (isInputError(error)) throw new Refused(400, error.message);
    throw error;
  }
}
