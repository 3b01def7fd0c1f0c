/** What the forms that change keys share: on whose behalf, and that each does its work once. */
import { randomUUID } from 'node:crypto';
import type { GrantAuthority, IssuedKey } from 'keyscope';
import { isInputError } from 'keyscope';
import { KEYS } from './paths.ts';
import type { Answer, Visit } from './visit.ts';
import { field, Refused } from './visit.ts';

/** On whose behalf: the session decides, and nothing that a form says. */
export function requireAuthority(c: Visit): GrantAuthority {
  const { authority } = c.var.member;
  if (authority === null)
    throw new Refused(403, 'Your role may only view keys. Ask an admin to create or revoke one.');
  return authority;
}

/** The same, with the reason that the form gives. */
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
  const words = 'This form was sent before, or is too old.';
  throw new Refused(409, `${words} If it made a key that you did not see, revoke it.`);
}

/** Leads to the page that shows a new key, which waits for it in memory: Back is no second POST. */
export function leadToNewKey(c: Visit, issued: IssuedKey): Answer {
  const { keyId } = issued.info;
  c.var.session.newKeys.set(keyId, issued);
  return c.redirect(`${KEYS}/${keyId}/new`, 303);
}

/** Runs a management call; what a person wrote and keyscope refuses is their mistake. */
export async function orRefused<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (isInputError(error)) throw new Refused(400, error.message);
    throw error;
  }
}
