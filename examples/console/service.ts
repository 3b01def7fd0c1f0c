/**
 * Everything that the console needs from your service. To use the console, copy this folder, write
 * your own `server.ts`, and put your own words into `pages`. No other file knows the service.
 */
import type { Hono } from 'hono';
import type { Keyring } from 'keyscope';
import type { Env, SignedIn } from './visit.ts';

/**
 * How people sign in, and whose sessions they get. The demo uses `link.ts`; write your own instead.
 * The console keeps nothing between two requests. If your service has several processes, each one
 * must find the sessions that another one began.
 */
export interface SignIn {
  /**
   * Returns the sender of a request, or `null` to redirect them to `/console/sign-in`. The console
   * calls it on each request, so that deleting a member or changing a role takes effect at once.
   */
  whoIs(request: Request): SignedIn | null | Promise<SignedIn | null>;
  /** Serves `/sign-in` and `/sign-out` to anyone, with pages or with redirects to yours. */
  serve(app: Hono<Env>): void;
}

/** The service as the console sees it. */
export interface ConsoleService {
  readonly keyring: Keyring;
  readonly signIn: SignIn;
  /**
   * Returns the name of an organization; `null` to show its UUID. The console also asks for other
   * organizations: those that own a key which addresses this one, or that a key addresses.
   */
  readonly nameOf: (entityId: string) => string | null;
  /** The origin at which people reach the service, such as `https://acme.example`. */
  readonly publicUrl: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Gets each error that is not the visitor's fault. Log it. */
  readonly report: (error: unknown) => void;
}

/** Checks whether visitors reach the service over TLS. */
export function isSecure({ publicUrl }: Pick<ConsoleService, 'publicUrl'>): boolean {
  return publicUrl.startsWith('https:');
}
