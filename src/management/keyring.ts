/** The interface of a keyring: all operations of a service on its keys. */
import type { Admitting } from '../core/admit.js';
import type { AuthenticateOptions } from '../core/authenticate.js';
import type { Catalog, PatternOf, ScopeOf } from '../core/catalog.js';
import type { Policy } from '../core/policy.js';
import type { Principal } from '../core/principal.js';
import type { RequestLike } from '../core/request.js';
import type { Authority, GrantAuthority } from './authority.js';
import type { IdentifyOptions } from './identify.js';
import type { DamagedKey, IssuedKey, KeyInfo } from './info.js';
import type { IssueInput } from './issue.js';
import type { IssueKeylessInput, KeylessKey } from './keyless.js';
import type { AddressedKey, AddressingInput, ListInput, ListPage, OwnInput } from './list.js';
import type { RotateInput } from './rotate.js';

/** Every method accepts both; only `issue`, `issueKeyless` and `rotate` require the second. */
export type AnyAuthority = Authority | GrantAuthority;

/**
 * A service's keys, as {@link createKeyring} returns them. Frozen; no method needs `this`.
 *
 * Management calls take an authority. Build it from the caller's session, never from the request.
 * Every refusal emits the event `management.denied`. A malformed authority throws a plain
 * `TypeError`. Malformed input that may come from a request throws an `InputError` with the field,
 * before anything is written.
 */
export interface Keyring<C extends Catalog = Catalog, Operation extends string = string>
  extends Admitting<Operation, ScopeOf<C>> {
  /** The catalog of the scopes that its keys can have. */
  readonly catalog: C;
  readonly policy: Policy<Operation, C>;
  /**
   * Makes a key. `result.key` is the plaintext, which nobody can recover later.
   *
   * After a `StoreError`, a record may exist, but its plaintext was not returned: issue another
   * key.
   *
   * Not checked: whether the entities exist, or whether another key has the same name.
   *
   * @throws AccessError `ceiling_exceeded` with `excess`. For `authority.keyId`: `invalid_token` or
   *   `not_found` if it is not a live key of the entity; `ceiling_exceeded` if a key issued it;
   *   `conflict` if it ends, or the first key of its chain is revoked.
   * @throws InputError, StoreError.
   * @throws TypeError on an authority without `scopes`.
   * @example
   * const input = { name: 'CI', scopes: ['threats:read'], expiresAt: 'never' } as const;
   * const { key } = await keyring.issue(input, { entityId, scopes: 'all', actor: 'ada' });
   */
  issue(input: IssueInput<PatternOf<C>>, authority: GrantAuthority): Promise<IssuedKey>;
  /**
   * Makes a key whose text nobody holds: a workload whose token has the issuer and the claims of
   * `trust` acts as the key. The audience of the token ends with `#` and the key id; see
   * `keyscope/keyless`.
   *
   * Not checked: as for `issue`; and whether the issuer gives these claims to others, too.
   *
   * @throws AccessError as `issue`.
   * @throws InputError, also `trust`: no verifier lists the issuer, or others can get the claims.
   * @throws TypeError on a keyring without `tokens` or without a pepper, and as `issue`.
   * @throws StoreError. A record may then exist: look for it in `list`.
   * @example
   * const trust = githubTrust({ repositoryId: '123', ownerId: '45', branch: 'main' });
   * const input = { name: 'deploy', scopes: ['threats:read'], expiresAt: 'never', trust } as const;
   * const { info } = await keyring.issueKeyless(input, { entityId, scopes: 'all' });
   */
  issueKeyless(
    input: IssueKeylessInput<PatternOf<C>>,
    authority: GrantAuthority,
  ): Promise<KeylessKey>;
  /**
   * Replaces a key with a successor that has the same name, scopes, entities, justification,
   * metadata and expiry, or fewer scopes and entities. The successor does not get scopes that the
   * catalog no longer has or entities that withdrew.
   *
   * The predecessor works for another `overlapMs`, but not beyond its own expiry. After a
   * `StoreError`, the predecessor may be retired although the successor's plaintext was not
   * returned. `list` shows both: revoke the successor and issue a new key.
   *
   * @throws AccessError `not_found`; `conflict` with the reason if the predecessor would not
   *   authenticate, has been rotated already, or another call ends it first; `ceiling_exceeded`
   *   with `excess`, also for rights that the predecessor does not have. For `authority.keyId` as
   *   `issue`; it rotates only keys of its own chain.
   * @throws InputError, StoreError.
   * @throws TypeError on an authority without `scopes`.
   * @example
   * const input = { overlapMs: 7 * 86_400_000, scopes: ['threats:read'] };
   * const { key } = await keyring.rotate(keyId, input, { entityId, scopes: 'all' });
   */
  rotate(keyId: string, input: RotateInput, authority: GrantAuthority): Promise<IssuedKey>;
  /**
   * Ends a key immediately and for good, whatever its state. Idempotent; after a `StoreError`, call
   * it again. Revoking a rotated key does not end its successor; see `revokeLineage`.
   *
   * Not checked: the seal; whether the authority covers the key's scopes and other entities.
   *
   * @throws AccessError `not_found`.
   * @throws InputError.
   * @throws StoreError, also if the store wrote nothing although the key is not revoked.
   * @example
   * await keyring.revoke(keyId, { entityId, actor: 'ada', reason: 'left the company' });
   */
  revoke(keyId: string, authority: AnyAuthority): Promise<void>;
  /**
   * Revokes a key, its rotations, and everything that was issued under any of them (`issuedUnder`).
   * Use it for a leaked key. The key that issued this one stays. The first key of the chain ends
   * first; then no key of it can add any. Idempotent; after a `StoreError`, call it again.
   *
   * @returns The ids of the keys that this call revoked.
   * @throws AccessError `not_found`; `conflict` with `ended` if no seal vouches for the key's row.
   * @throws InputError, StoreError.
   * @example
   * const ended = await keyring.revokeLineage(keyId, { entityId, reason: 'found on GitHub' });
   */
  revokeLineage(keyId: string, authority: AnyAuthority): Promise<readonly string[]>;
  /**
   * Suspends a key until `resume`: the keyring refuses it like a revoked one. Idempotent: the
   * record keeps the first caller. After a `StoreError`, call it again.
   *
   * @throws AccessError `not_found`; `conflict` if the key was revoked, retired or has expired.
   * @throws InputError, StoreError.
   * @example
   * await keyring.suspend(keyId, { entityId, reason: 'unused since March' });
   */
  suspend(keyId: string, authority: AnyAuthority): Promise<void>;
  /**
   * Ends a suspension. Idempotent; after a `StoreError`, call it again. A key that expired in the
   * meantime stays expired.
   *
   * @throws AccessError `not_found`; `conflict` if the key was revoked. For `authority.keyId` as
   *   `issue`; it resumes only keys that were issued under it.
   * @throws InputError, StoreError.
   * @example
   * await keyring.resume(keyId, { entityId });
   */
  resume(keyId: string, authority: AnyAuthority): Promise<void>;
  /**
   * Removes the authority's entity from another entity's key, and from keys that were or will be
   * rotated from it. For good. Idempotent; after a `StoreError`, call it again.
   *
   * Not checked: whether the owner issues another key for this entity; see `authority.entities`.
   *
   * @throws AccessError `not_found`, also if the key does not address the entity.
   * @throws InputError on a key that the entity owns itself.
   * @throws StoreError.
   * @example
   * await keyring.withdraw(keyId, { entityId });
   */
  withdraw(keyId: string, authority: AnyAuthority): Promise<void>;
  /**
   * Returns one page of an entity's keys, including ended ones, newest first. With
   * `addressing: true`, returns the keys of others that address this entity, with only the fields
   * it needs. If the type of `addressing` is just `boolean`, the keys may be of either type.
   *
   * @throws InputError on a cursor that is not `next` of a previous page, or a `limit` outside 1 to
   *   1,000.
   * @throws StoreError.
   * @example
   * const { keys, next } = await keyring.list({ limit: 50 }, { entityId });
   */
  list(input: AddressingInput, authority: AnyAuthority): Promise<ListPage<AddressedKey>>;
  list(input: OwnInput | undefined, authority: AnyAuthority): Promise<ListPage>;
  list(
    input: ListInput | undefined,
    authority: AnyAuthority,
  ): Promise<ListPage<KeyInfo | AddressedKey>>;
  /**
   * Returns one key, or `null` if this entity has no key with this id. Returns a `DamagedKey` if
   * the record cannot be read.
   *
   * @throws InputError, StoreError.
   * @example
   * const info = await keyring.get(keyId, { entityId });
   */
  get(keyId: string, authority: AnyAuthority): Promise<KeyInfo | DamagedKey | null>;
  /**
   * Finds out whose key a string is, whatever its state. Returns `null` if it is not a key of this
   * keyring. For operators who found a key. Do not expose it on a route: callers who present a key
   * must not get this answer.
   *
   * @param options Who asks, and why, for the event.
   * @throws TypeError on an invalid option, never on `key`.
   * @throws StoreError.
   * @example
   * const info = await keyring.identify(found, { actor: 'ada' });
   * if (info?.state === 'live') page(info.entityId, info.keyId);
   */
  identify(key: unknown, options?: IdentifyOptions): Promise<KeyInfo | DamagedKey | null>;
  /**
   * Verifies a key. A pure read: it never writes. Not checked: scopes and entities.
   *
   * @throws AccessError `invalid_token`, whatever the reason.
   * @throws StoreError, never synchronously.
   * @example
   * const principal = await keyring.verify(key);
   */
  verify(key: unknown): Promise<Principal<ScopeOf<C>>>;
  /**
   * Verifies the bearer credential of a request. Pass a fetch `Request` or `Headers`, anything with
   * Node's `rawHeaders`, a plain header object, a string, a list of `Authorization` values, or
   * nothing.
   *
   * Not checked: scopes and entities; whether a fetch `Request` made on Node has kept a second
   * `Authorization` line.
   *
   * @param options `fresh`: bypasses the cache, for results that outlive the request, as tokens do.
   *
   * @throws AccessError `missing_credentials`, `invalid_request`, `invalid_token`.
   * @throws TypeError on an object that is neither a request nor headers.
   * @throws StoreError.
   * @example
   * const principal = await keyring.authenticate(request);
   */
  authenticate(
    request?: RequestLike,
    options?: AuthenticateOptions,
  ): Promise<Principal<ScopeOf<C>>>;
  /**
   * Guards one operation: authenticates, authorizes by the policy, records usage and emits the
   * event. Instead of a request, you can pass a function that authenticates, if you have already
   * read the credential.
   *
   * Not checked: whether the entity exists.
   *
   * @throws AccessError as `authenticate` and `policy.authorize` do.
   * @throws TypeError on an operation that is not in the policy, and as `authenticate` does; it
   *   then emits no event.
   * @throws StoreError.
   * @example
   * const input = { operation: 'listThreats', entityId: query.entity_uuid } as const;
   * const { principal, entityId } = await keyring.admit(request, input);
   */
  admit: Admitting<Operation, ScopeOf<C>>['admit'];
  /**
   * Writes pending usage. Call it on shutdown, or in a Worker's `waitUntil`.
   *
   * @throws StoreError; the usage then stays pending for the next attempt.
   * @example
   * ctx.waitUntil(keyring.flush());
   */
  flush(): Promise<void>;
}
