/** The verified caller, and the guards over it. A guard throws; the boolean forms are for display. */
import { AccessError } from './errors.js';
import { expect, isUuid, quote } from './input.js';
import type { KeyRecord, Metadata } from './record.js';
import { isScope } from './scope.js';

/** Who is calling. Frozen to the bottom; handlers may share it. */
export interface Principal {
  readonly keyId: string;
  readonly name: string;
  /** The entity that the key belongs to. */
  readonly entityUuid: string;
  /** Every entity that the key can address; contains `entityUuid`. */
  readonly accessibleEntities: readonly string[];
  /** As granted. One that the catalog no longer knows is shown here and grants nothing. */
  readonly scopes: readonly string[];
  readonly metadata: Metadata;
  /** Milliseconds since the epoch, or `null` for never. */
  readonly expiresAt: number | null;
  /** How the caller authenticated. */
  readonly via: 'key' | 'jwt';
}

// Guards read the private sets and not the public lists: an object put together elsewhere, from a request body
// say, or a copy of a principal with other scopes, is no principal.
class VerifiedPrincipal implements Principal {
  readonly keyId: string;
  readonly name: string;
  readonly entityUuid: string;
  readonly accessibleEntities: readonly string[];
  readonly scopes: readonly string[];
  readonly metadata: Metadata;
  readonly expiresAt: number | null;
  readonly via: 'key' | 'jwt';
  readonly #granted: ReadonlySet<string>;
  readonly #entities: ReadonlySet<string>;

  constructor(source: Omit<Principal, 'via'>, via: 'key' | 'jwt', catalog: ReadonlySet<string>) {
    this.keyId = source.keyId;
    this.name = source.name;
    this.entityUuid = source.entityUuid;
    this.accessibleEntities = source.accessibleEntities;
    this.scopes = source.scopes;
    this.metadata = source.metadata;
    this.expiresAt = source.expiresAt;
    this.via = via;
    this.#granted = new Set(source.scopes.filter((scope) => catalog.has(scope)));
    this.#entities = new Set(source.accessibleEntities);
    Object.freeze(this);
  }

  static holds(principal: Principal, scope: string): boolean {
    return genuine(principal).#granted.has(scope);
  }

  static reaches(principal: Principal, entityUuid: string): boolean {
    return genuine(principal).#entities.has(entityUuid);
  }

  static is(value: unknown): value is VerifiedPrincipal {
    return typeof value === 'object' && value !== null && #granted in value;
  }
}

function genuine(principal: Principal): VerifiedPrincipal {
  if (VerifiedPrincipal.is(principal)) return principal;
  throw new TypeError('principal: pass the one that verify, authenticate or admit returned, not a copy');
}

/**
 * Compiles the principal of a record that passed every check. `catalog` is the set of scopes that exist:
 * what is not in it grants nothing. Lists are shared with the record, which is frozen.
 */
export function createPrincipal(
  record: Pick<KeyRecord, Exclude<keyof Principal, 'via'>>,
  via: 'key' | 'jwt',
  catalog: ReadonlySet<string>,
): Principal {
  return new VerifiedPrincipal(record, via, catalog);
}

/**
 * Whether the principal was granted all of `scopes`. For display; to guard, use {@link requireScopes}.
 *
 * @throws TypeError on no scope at all, a pattern, a malformed scope, or an object that is no principal.
 * @example
 * const showButton = hasScopes(principal, 'threats:write');
 */
export function hasScopes(principal: Principal, ...scopes: readonly string[]): boolean {
  expect(scopes.length > 0, 'scopes: name at least one; requiring nothing is a policy entry with []');
  // A granted scope is a concrete one, so grammar needs a look only where something is missing.
  let all = true;
  for (const scope of scopes) {
    if (VerifiedPrincipal.holds(principal, scope)) continue;
    const concrete = typeof scope === 'string' && isScope(scope);
    expect(concrete, `scopes: ${quote(scope)} is no concrete scope; what is required names resource:action`);
    all = false;
  }
  return all;
}

/**
 * Guards by scope: returns where the principal was granted all of `scopes`.
 *
 * Not checked: the entity (see {@link requireEntity}); whether the catalog has the scopes (a policy checks that).
 *
 * @throws AccessError `insufficient_scope` with `requiredScopes` (RFC 6750 §3.1).
 * @throws TypeError on no scope at all, a pattern, a malformed scope, or an object that is no principal.
 * @example
 * requireScopes(principal, 'threats:read');
 */
export function requireScopes(principal: Principal, ...scopes: readonly string[]): void {
  if (hasScopes(principal, ...scopes)) return;
  const details = { keyId: principal.keyId, requiredScopes: scopes };
  throw new AccessError('insufficient_scope', 'scope_missing', details);
}

/**
 * Whether the principal can address `entityUuid`; `false` for anything that is no UUID in lower case.
 *
 * @throws TypeError on an object that is no principal.
 * @example
 * const tabs = entities.filter((entity) => canAddress(principal, entity));
 */
export function canAddress(principal: Principal, entityUuid: string): boolean {
  return VerifiedPrincipal.reaches(principal, entityUuid);
}

/**
 * Guards by entity: returns where the principal can address `entityUuid`.
 *
 * @param entityUuid As the request gave it; anything is refused that is not one UUID in lower case.
 * @throws AccessError `invalid_request` where it is no UUID, `entity_forbidden` where it is another's.
 * @throws TypeError on an object that is no principal.
 * @example
 * requireEntity(principal, url.searchParams.get('entity_uuid'));
 */
export function requireEntity(principal: Principal, entityUuid: unknown): asserts entityUuid is string {
  const { keyId } = principal;
  if (!isUuid(entityUuid)) throw new AccessError('invalid_request', 'malformed_entity', { keyId });
  if (canAddress(principal, entityUuid)) return;
  throw new AccessError('entity_forbidden', 'entity_not_accessible', { keyId });
}
