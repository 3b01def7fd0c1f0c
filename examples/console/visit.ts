/** The state of a request while the console answers it, and the error that refuses it. */
import type { Context } from 'hono';
import type { GrantAuthority, IssuedKey } from 'keyscope';
import type { LRUCache } from 'lru-cache';

/** A person who may use the console. */
export interface Member {
  readonly user: { readonly email: string; readonly role: string };
  readonly entityId: string;
  /** The authority that this member manages keys with; `null` if the role may only view them. */
  readonly authority: GrantAuthority | null;
}

/** A new key that waits for the page that shows it. */
export interface NewlyIssued {
  readonly issued: IssuedKey;
  /** The sentence that reports how the key came to be. */
  readonly notice: string;
}

/** The data that the console keeps for a visitor between two pages. */
export interface Session {
  /** Forms that were shown and not sent yet, so that no form creates two keys. */
  readonly forms: LRUCache<string, true>;
  /** New keys by key id. The console shows each once, within a minute. */
  readonly newKeys: LRUCache<string, NewlyIssued>;
  /** The results of actions, by the path of the page that shows each once. */
  readonly notices: LRUCache<string, string>;
}

export interface Env {
  Variables: {
    /** The fields of a POST. */
    form: URLSearchParams;
    /** Set on the pages behind the sign-in, like `member`. */
    session: Session;
    member: Member;
  };
}

export type Visit = Context<Env>;

/** Thrown when the console cannot serve a page. The visitor sees the message. */
export class Refused extends Error {
  readonly status: 400 | 403 | 404 | 409 | 415;

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
