/** What the console knows of a request while it answers it, and how it refuses one. */
import type { Context } from 'hono';
import type { GrantAuthority, IssuedKey } from 'keyscope';
import type { LRUCache } from 'lru-cache';

/** A person who may use the console. */
export interface Member {
  readonly user: { readonly email: string; readonly role: string };
  readonly entityUuid: string;
  /** On whose behalf this member manages keys; `null` if the role may only look. */
  readonly authority: GrantAuthority | null;
}

/** What is kept for a visitor between two pages. */
export interface Session {
  /** Forms that were shown and not yet sent, so that none makes two keys. */
  readonly forms: LRUCache<string, true>;
  /** By key id: keys that were made and not yet shown. Each is read once, within a minute. */
  readonly newKeys: LRUCache<string, IssuedKey>;
}

export interface Env {
  Variables: {
    /** Of a POST. */
    form: URLSearchParams;
    /** On the pages behind the sign-in, as `member` is. */
    session: Session;
    member: Member;
  };
}

export type Visit = Context<Env>;

/** Thrown when a page cannot be served. The message is for the visitor. */
export class Refused extends Error {
  readonly status: 400 | 403 | 404 | 409 | 415;

  constructor(status: Refused['status'], words: string) {
    super(words);
    this.status = status;
  }
}

const FORM = /^application\/x-www-form-urlencoded\b/i;

/** Reads the fields of a form, as the console's own pages send them. */
export async function readForm(c: Visit): Promise<URLSearchParams> {
  const type = c.req.header('content-type') ?? '';
  if (!FORM.test(type)) throw new Refused(415, 'This is no form of the console.');
  return new URLSearchParams(await c.req.text());
}

export type Answer = Response | Promise<Response>;

/** A field of the form that was sent; empty if it has none of this name. */
export const field = (c: Visit, name: string): string => c.var.form.get(name) ?? '';
