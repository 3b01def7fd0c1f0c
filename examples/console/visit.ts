/** What the console knows of a request while it answers it, and how it refuses one. */
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { IssuedKey } from 'keyscope';
import type { LRUCache } from 'lru-cache';
import type { Member, SignedIn } from '../platform/host/accounts.ts';
import type { Platform } from '../platform/host/boot.ts';
import type { ClientAddress } from '../platform/host/client-address.ts';

/** What the console is made of: a {@link Platform}, and what tests and servers add to it. */
export interface ConsoleService
  extends Pick<Platform, 'keyring' | 'accounts' | 'publicUrl' | 'now'> {
  /** Told of errors that no visitor has caused. Default: the console of the process. */
  readonly report?: (error: unknown) => void;
  /**
   * A visitor's address. Default: the other end of the connection, which behind a proxy is the
   * proxy.
   */
  readonly clientAddress?: ClientAddress | undefined;
}

/** Whether visitors reach the service over TLS. */
export const isSecure = ({ publicUrl }: ConsoleService): boolean => publicUrl.startsWith('https:');

/** A person who is signed in. */
export interface Session {
  readonly account: SignedIn;
  /** Forms that were shown and not yet sent, so that none makes two keys. */
  readonly forms: LRUCache<string, true>;
  /** By key id: keys that were made and not yet shown. Each is read once, within a minute. */
  readonly newKeys: LRUCache<string, IssuedKey>;
}

export interface Env {
  Bindings: HttpBindings;
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
