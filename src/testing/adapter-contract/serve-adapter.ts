/** The function that mounts an adapter's guard on two routes, and its types. */
import type { Catalog } from '../../core/catalog.js';
import type { Principal } from '../../core/principal.js';
import type { Awaitable } from '../../core/store.js';
import type { Keyring } from '../../management/keyring.js';

/** The options of the guard, and the handler of its routes. */
export interface AdapterSetup {
  /** Its operation `whoami` does not need a scope, `readReports` needs one. */
  readonly keyring: Keyring<Catalog, 'whoami' | 'readReports'>;
  readonly realm: string;
  readonly resourceMetadata: string;
  /**
   * Returns the text that the handler of either route must answer with. Pass the principal and the
   * entity that the guard put on the request. May throw.
   */
  readonly handle: (principal: Principal, entityId: string) => string;
}

/**
 * The part of a fetch `Response` that we use, because not every TypeScript configuration has that
 * type.
 */
export interface FetchAnswer {
  readonly status: number;
  readonly headers: { forEach(each: (value: string, name: string) => void): void };
  text(): Promise<string>;
}

/**
 * A bare app with the two routes: its URL, or the function that answers a fetch `Request`. `close`
 * stops it.
 */
export type ServedAdapter = { close?(): Awaitable<unknown> } & (
  | { readonly url: string }
  | { readonly fetch: (request: never) => Awaitable<FetchAnswer> }
);

/** Mounts a guard on the two routes of a bare app. */
export type ServeAdapter = (setup: AdapterSetup) => Awaitable<ServedAdapter>;
