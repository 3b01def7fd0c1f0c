/** What a contract needs of an adapter: a function that mounts its guard on two routes. */
import type { Policy } from '../../core/policy.js';
import type { Principal } from '../../core/principal.js';
import type { Awaitable } from '../../core/store.js';
import type { Keyring } from '../../management/keyring.js';

/** What a test makes a guard from, and what its routes call. */
export interface AdapterSetup {
  readonly keyring: Keyring;
  /** `whoami` needs no scope, `readReports` needs one. */
  readonly policy: Policy<'whoami' | 'readReports'>;
  readonly realm: string;
  readonly resourceMetadata: string;
  /**
   * For the handler of either route, with what the guard put on the request: returns the answer's
   * text. May throw.
   */
  readonly handle: (principal: Principal, entityUuid: string) => string;
}

/**
 * The part of a fetch `Response` that is used; not every TypeScript configuration has that type.
 */
export interface FetchAnswer {
  readonly status: number;
  readonly headers: { forEach(each: (value: string, name: string) => void): void };
  text(): Promise<string>;
}

/**
 * A bare app with the two routes: its URL, or the function that answers a fetch `Request`, and how
 * to close it.
 */
export type ServedAdapter = { close?(): Awaitable<unknown> } & (
  | { readonly url: string }
  | { readonly fetch: (request: never) => Awaitable<FetchAnswer> }
);

/** Mounts a guard on the two routes of a bare app. */
export type ServeAdapter = (setup: AdapterSetup) => Awaitable<ServedAdapter>;
