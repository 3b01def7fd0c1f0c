/**
 * What the console takes of the service that it is put into. Copy this folder, write a `server.ts`
 * of your own, and put your words into `pages`: nothing else in it knows the service.
 */
import type { Hono } from 'hono';
import type { Catalog, Keyring } from 'keyscope';
import type { Env, Member } from './visit.ts';

/** A member, in one of their sessions. */
export interface SignedIn extends Member {
  /** The session's id: no two sign-ins have the same. */
  readonly session: string;
}

/** How people sign in. `link.ts` is the demo's way: write your own in its place. */
export interface SignIn {
  /**
   * Who sends this request; `null` leads to `/console/sign-in`. The console asks on each request,
   * so a deletion or another role takes effect at once.
   */
  whoIs(request: Request): SignedIn | null | Promise<SignedIn | null>;
  /** Serves `/sign-in` and `/sign-out` to anyone, by pages or by redirects to yours. */
  serve(app: Hono<Env>): void;
}

/** What the console is made of. */
export interface ConsoleService {
  readonly keyring: Keyring;
  readonly catalog: Catalog;
  readonly signIn: SignIn;
  /** How people reach the service, such as `https://acme.example`. */
  readonly publicUrl: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Told of errors that no visitor has caused. */
  readonly report: (error: unknown) => void;
}

/** Whether visitors reach the service over TLS. */
export function isSecure({ publicUrl }: Pick<ConsoleService, 'publicUrl'>): boolean {
  return publicUrl.startsWith('https:');
}
