/** The state of a request while the console answers it, and the error that refuses it. */
import type { Context } from 'hono';
import type { GrantAuthority } from 'keyscope';

/** A person who may use the console. */
export interface Member {
  readonly user: { readonly email: string; readonly role: string };
  readonly entityId: string;
  /** The authority that this member manages keys with; `null` if the role may only view them. */
  readonly authority: GrantAuthority | null;
}

/** A member with a session. */
export interface SignedIn extends Member {
  /** A text that only this session has and nobody can guess, such as its id. No page shows it. */
  readonly session: string;
}

export interface Env {
  Variables: {
    /** The fields of a POST. */
    form: URLSearchParams;
    /** Set on the pages behind the sign-in. */
    member: SignedIn;
  };
}

export type Visit = Context<Env>;

/** Thrown when the console cannot serve a page. The visitor sees the message. */
export class Refused extends Error {
  readonly status: 400 | 403 | 404 | 415;

  constructor(status: Refused['status'], words: string) {
    super(words);
    this.status = status;
  }
}

const FORM = /^application\/x-www-form-urlencoded\b/i;

/** Reads the fields of a form in the encoding that the console's pages use. */
export async function readForm(c: Visit): Promise<URLSearchParams> {
  const type = c.req.header('content-type') ?? '';
  if (!FORM.test(type)) throw new Refused(415, 'The console accepts only its own forms.');
  return new URLSearchParams(await c.req.text());
}

export type Answer = Response | Promise<Response>;

/** Returns a field of the form; empty if the form does not have it. */
export const field = (c: Visit, name: string): string => c.var.form.get(name) ?? '';
