/**
 * What the console takes of the service that it is put into. Copy this folder, write a `server.ts`
 * of your own, and put your words into `pages`: nothing else in it knows the service.
 */
import type { IncomingMessage } from 'node:http';
import type { Catalog, GrantAuthority, Keyring } from 'keyscope';

/** Somebody who has given their password. */
export interface SignedIn {
  readonly entityUuid: string;
  readonly userId: string;
  /** Which password it was, because a session ends with the password that began it. */
  readonly version: string;
}

export interface Member {
  readonly user: { readonly email: string; readonly role: string };
  readonly entityUuid: string;
  /** On whose behalf this member manages keys; `null` if the role may only look. */
  readonly authority: GrantAuthority | null;
}

/** What is known of an attempt to sign in, besides the credentials. */
export interface Attempt {
  /** Whether this visitor has signed in before: a crowd of others keeps nobody from it. */
  readonly isFirst?: boolean | undefined;
  /** Called when it is this one's turn. If it throws, no work is done. */
  readonly begin?: (() => void) | undefined;
}

/** Who may sign in. */
export interface ConsoleAccounts {
  /** Whose credentials these are; `null`, after the same work, if they are nobody's. */
  signIn(email: string, password: string, attempt?: Attempt): Promise<SignedIn | null>;
  /** The member's current state; `null` once they are deleted, or have another password. */
  find(account: SignedIn): Member | null;
}

/** What the console is made of. */
export interface ConsoleService {
  readonly keyring: Keyring;
  readonly catalog: Catalog;
  readonly accounts: ConsoleAccounts;
  /** How people reach the service, such as `https://acme.example`. */
  readonly publicUrl: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /**
   * A visitor's address in the one spelling that it has, of whom there may be many tries to sign
   * in: the other end of the connection, or what a proxy says.
   */
  readonly clientAddress: (request: IncomingMessage) => string;
  /** Whether `signIn` threw this because too many sign in at once. */
  readonly isBusy: (error: unknown) => boolean;
  /** Told of errors that no visitor has caused. */
  readonly report: (error: unknown) => void;
}

/** Whether visitors reach the service over TLS. */
export const isSecure = ({ publicUrl }: ConsoleService): boolean => publicUrl.startsWith('https:');
