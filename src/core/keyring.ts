/** Combines the operations into one frozen object with one configuration. */
import { type Admission, type AdmitInput, type Authenticator, admit } from './admit.js';
import { type Advice, type AdviseInput, advise } from './advise.js';
import { authenticate } from './authenticate.js';
import { type Authority, readAuthority } from './authority.js';
import type { Catalog, PatternOf } from './catalog.js';
import { createContext, type KeyringOptions } from './context.js';
import type { IssuedKey, KeyInfo } from './info.js';
import { type IssueInput, issue } from './issue.js';
import { get, type ListInput, type ListPage, list } from './list.js';
import type { Principal } from './principal.js';
import { type PepperUse, pepperReport } from './reports.js';
import type { RequestLike } from './request.js';
import { revoke } from './revoke.js';
import { type RotateInput, rotate } from './rotate.js';
import { verify } from './verify.js';

/** A service's keys. Made by {@link createKeyring}; frozen; no method needs `this`. */
export interface Keyring<C extends Catalog = Catalog> {
  /**
   * Makes a key. `result.key` is the plaintext, which cannot be recovered later.
   *
   * The first argument may come from a request; the second is the caller's own authority and never
   * does. After a `StoreError` it is unknown whether the record was written, but its plaintext was
   * not returned: issue another key.
   *
   * Not checked: whether the entities exist, or whether another key has the same name.
   *
   * @throws AccessError `ceiling_exceeded` with `excess`.
   * @throws TypeError on malformed input or unknown fields; nothing was written.
   * @throws StoreError.
   * @example
   * const input = { name: 'CI', scopes: ['threats:read'], expiresAt: 'never' };
   * const { key } = await keyring.issue(input, { entityUuid });
   */
  issue(input: IssueInput<PatternOf<C>>, authority: Authority): Promise<IssuedKey>;
  /**
   * Ends a key at once and for good. Idempotent; after a `StoreError`, call it again. Revoking a
   * rotated key does not end its successor.
   *
   * Not checked: the seal; whether the authority covers the key's scopes and other entities.
   *
   * @throws AccessError `not_found`.
   * @throws TypeError on a malformed authority, or a `keyId` that is not a string.
   * @throws StoreError, also if the store wrote nothing although the key is not revoked.
   * @example
   * await keyring.revoke(keyId, { entityUuid });
   */
  revoke(keyId: string, authority: Authority): Promise<void>;
  /**
   * Replaces a key by one with the same name, scopes, entities, justification and metadata.
   *
   * The predecessor works for another `overlapMs`, but not beyond its own expiry. After a
   * `StoreError` the predecessor may be retired although the successor's plaintext was not
   * returned: `list` shows both; revoke the successor and issue a new key.
   *
   * Not checked: whether the catalog still has the scopes, which are copied as they are.
   *
   * @throws AccessError `not_found`; `invalid_token` with the reason if the predecessor would not
   *   authenticate; `ceiling_exceeded` with `excess`; `conflict` if it is rotated already or
   *   another call ends it first.
   * @throws TypeError on malformed input; nothing was written.
   * @throws StoreError.
   * @example
   * const { key } = await keyring.rotate(keyId, { overlapMs: 7 * 86_400_000 }, { entityUuid });
   */
  rotate(keyId: string, input: RotateInput, authority: Authority): Promise<IssuedKey>;
  /**
   * Returns one page of an entity's keys, ended ones included, newest first. Not checked: their
   * seals.
   *
   * @throws TypeError on a cursor that is not `next` of a previous page, a `limit` outside 1 to
   *   1,000, or a malformed authority.
   * @throws StoreError.
   * @example
   * const { keys, next } = await keyring.list({ limit: 50 }, { entityUuid });
   */
  list(input: ListInput | undefined, authority: Authority): Promise<ListPage>;
  /**
   * Returns one key, or `null` if this entity has none with this id. Not checked: its seal.
   *
   * @throws TypeError on a malformed authority, or a `keyId` that is not a string.
   * @throws StoreError.
   * @example
   * const info = await keyring.get(keyId, { entityUuid });
   */
  get(keyId: string, authority: Authority): Promise<KeyInfo | null>;
  /**
   * Names the granted scopes that an integration does not use: not exercised by `admit` for
   * `unusedForMs`, or never, in a key at least that old. Scopes never change: issue a key with
   * fewer, switch to it, revoke this one.
   *
   * Writes the usage noted in this process first. Not checked: the seal; what other processes have
   * not written yet (some seconds), and scopes that handlers require in addition to the policy.
   *
   * @throws AccessError `not_found`.
   * @throws TypeError on malformed input.
   * @throws StoreError.
   * @example
   * const unusedForMs = 90 * 86_400_000;
   * const { unusedScopes } = await keyring.advise(keyId, { unusedForMs }, { entityUuid });
   */
  advise(keyId: string, input: AdviseInput, authority: Authority): Promise<Advice>;
  /**
   * Counts the live keys of all entities under each pepper, and says when one of them was last
   * used: removing a pepper from the configuration ends the keys made under it. For operators;
   * reads the whole table unless the store has a better way. Writes the usage noted in this process
   * first.
   *
   * @throws StoreError.
   * @example
   * const old = (await keyring.pepperReport()).find(({ pepper }) => pepper === '2024');
   * if (old === undefined || old.live === 0) console.log('the pepper 2024 can be removed');
   */
  pepperReport(): Promise<readonly PepperUse[]>;
  /**
   * Verifies a key: a pure read that never writes. Not checked: scopes and entities.
   *
   * @throws AccessError `invalid_token`, whatever the reason.
   * @throws StoreError, never synchronously.
   * @example
   * const principal = await keyring.verify(key);
   */
  verify(key: unknown): Promise<Principal>;
  /**
   * Verifies the bearer credential of a request: a fetch `Request` or `Headers`, anything with
   * Node's `rawHeaders`, a plain header object, a string, a list of `Authorization` values, or
   * nothing.
   *
   * Not checked: scopes and entities; whether a fetch `Request` made on Node has kept a second
   * `Authorization` line.
   *
   * @throws AccessError `missing_credentials`, `invalid_request`, `invalid_token`.
   * @throws TypeError on an object that is neither a request nor headers.
   * @throws StoreError.
   * @example
   * const principal = await keyring.authenticate(request);
   */
  authenticate(request?: RequestLike): Promise<Principal>;
  /**
   * Guards one operation: authenticates, authorizes by the policy, records the usage, emits the
   * event. Instead of a request it accepts a function that authenticates, for callers that have
   * already read the credential.
   *
   * Not checked: whether the policy was defined on this keyring's catalog; whether the entity
   * exists.
   *
   * @throws AccessError as `authenticate` and `policy.authorize` do.
   * @throws TypeError on an operation that the policy does not have, and as `authenticate`; then no
   *   event is emitted.
   * @throws StoreError.
   * @example
   * const listThreats = { policy, operation: 'listThreats' };
   * const { principal, entityUuid } = await keyring.admit(request, listThreats);
   */
  admit<Operation extends string>(
    request: RequestLike | Authenticator,
    input: AdmitInput<Operation>,
  ): Promise<Admission>;
  /**
   * Writes the usage noted so far: on shutdown, or in a Worker's `waitUntil`.
   *
   * @throws StoreError; what was noted is kept for the next attempt.
   * @example
   * ctx.waitUntil(keyring.flush());
   */
  flush(): Promise<void>;
}

/**
 * Makes a keyring. Options are checked and copied here: a bad configuration fails at start-up.
 *
 * Not checked: whether the store can be reached.
 *
 * @throws TypeError that says what to write instead.
 * @example
 * const store = memoryStore();
 * const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers: 'none' });
 */
export function createKeyring<C extends Catalog>(options: KeyringOptions<C>): Keyring<C> {
  const context = createContext(options);
  const { flush } = context.usage;
  // Asynchronous, so that no method throws synchronously.
  return Object.freeze<Keyring<C>>({
    issue: async (input, authority) => issue(context, readAuthority(authority), input),
    revoke: async (keyId, authority) => revoke(context, readAuthority(authority), keyId),
    rotate: async (keyId, input, authority) =>
      rotate(context, readAuthority(authority), keyId, input),
    list: async (input, authority) => list(context, readAuthority(authority), input),
    get: async (keyId, authority) => get(context, readAuthority(authority), keyId),
    advise: async (keyId, input, authority) => {
      await flush();
      return advise(context, readAuthority(authority), keyId, input);
    },
    pepperReport: async () => {
      await flush();
      return pepperReport(context);
    },
    verify: async (key) => verify(context, key),
    authenticate: async (request) => authenticate(context, request),
    admit: (request, input) => admit(context, request, input),
    flush,
  });
}
