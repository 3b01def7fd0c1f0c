/** The verified caller, and the guards for it. Guards throw; the boolean forms are for display. */
import { AccessError } from './errors.js';
import { assert } from './input.js';
import type { KeyRecord, Usage } from './record.js';
import { isUuid } from './uuid.js';

/** A verified caller. Frozen, including its lists, so handlers can share it. */
export interface Principal<Scope extends string = string> {
  /** The id of the key; for a token, of the key behind it. */
  readonly keyId: string;
  /** The key's name, for people. */
  readonly name: string;
  /** The entity that the key belongs to. */
  readonly entityId: string;
  /** The entities that the caller can address. */
  readonly accessibleEntities: readonly string[];
  /** The scopes as granted. One that the catalog no longer has is listed, but grants nothing. */
  readonly scopes: readonly Scope[];
  /**
   * String pairs that belong to the integration. Frozen, unless they come from the claims of a
   * custom token verifier (`checkParent: false`).
   */
  readonly metadata: Readonly<Record<string, string>>;
  /**
   * When this credential ends, by expiry or retirement: milliseconds since the epoch, or null for
   * never.
   */
  readonly expiresAt: number | null;
  /**
   * The kind of credential: a key, a token that a key was exchanged for, or the token of an
   * identity that may act as the key (`trust`).
   */
  readonly via: 'key' | 'jwt' | 'keyless';
}

/** The usage of a key that is known to be stored. */
type StoredUsage = Partial<Pick<KeyRecord, keyof Usage>>;

/** The fields for a new principal. */
export type PrincipalFields = Omit<Principal, 'via'> & StoredUsage;

/** The rights that guards check against. */
interface Grant {
  /** The granted scopes that are in the catalog. */
  readonly held: ReadonlySet<string>;
  /** Every scope of the catalog. */
  readonly catalog: ReadonlySet<string>;
  /** Replaced when this process writes usage of the key. */
  stored: StoredUsage;
}

/**
 * Guards require the private field. An object built elsewhere, for example from a request body, is
 * not a principal, and neither is a copy of one with other scopes.
 */
class VerifiedPrincipal {
  readonly #grant: Grant;

  constructor(fields: PrincipalFields, via: Principal['via'], catalog: ReadonlySet<string>) {
    this.#grant = { held: heldScopes(fields.scopes, catalog), catalog, stored: fields };
    const shown: Principal = {
      keyId: fields.keyId,
      name: fields.name,
      entityId: fields.entityId,
      accessibleEntities: fields.accessibleEntities,
      scopes: fields.scopes,
      metadata: fields.metadata,
      expiresAt: fields.expiresAt,
      via,
    };
    Object.freeze(Object.assign(this, shown));
  }

  static grantOf(value: unknown): Grant {
    if (typeof value === 'object' && value !== null && #grant in value) return value.#grant;
    throw new TypeError(
      'principal: pass one that this copy of keyscope made; is an `await` or a guard missing?',
    );
  }
}

const MAX_SHARED_SETS = 1000;
/**
 * Keys with the same scopes share a set, which saves 230 bytes a key. The table is bounded, because
 * anyone who issues keys or narrows tokens chooses their scopes.
 */
const sharedSets = new Map<string, ReadonlySet<string>>();

function heldScopes(scopes: readonly string[], catalog: ReadonlySet<string>): ReadonlySet<string> {
  const known = scopes.filter((scope) => catalog.has(scope));
  const name = known.join();
  const shared = sharedSets.get(name);
  if (shared !== undefined) return shared;
  const held = new Set(known);
  if (sharedSets.size < MAX_SHARED_SETS) sharedSets.set(name, held);
  return held;
}

/**
 * Makes the principal of a record that passed every check. `catalog` is the set of scopes that
 * exist; any other scope grants nothing. The principal shares its lists with the record, which is
 * frozen.
 */
export function createPrincipal(
  fields: PrincipalFields,
  via: Principal['via'],
  catalog: ReadonlySet<string>,
): Principal {
  // With `Object` as `new.target`, the result is a plain object with a private field. It compares
  // and prints as data.
  return Reflect.construct(
    VerifiedPrincipal,
    [fields, via, catalog],
    Object,
  ) as unknown as Principal;
}

/**
 * Throws unless `value` is a principal that this copy of keyscope made.
 *
 * Not checked: whether its key has ended since.
 */
export function requirePrincipal(value: unknown): asserts value is Principal {
  VerifiedPrincipal.grantOf(value);
}

/**
 * Returns the usage that is known to be stored: what the looked-up record had, and what this
 * process has written since. Empty if the key was not looked up.
 */
export function usageOf(principal: Principal): { stored: StoredUsage } {
  return VerifiedPrincipal.grantOf(principal);
}

/** Returns the scopes that the principal has, without those that left the catalog. */
export function grantedScopes(principal: Principal): string[] {
  return [...VerifiedPrincipal.grantOf(principal).held];
}

/**
 * Checks whether the principal was granted all of `scopes`. For display; to guard, use
 * {@link requireScopes}.
 *
 * Not checked: the entity.
 *
 * @throws TypeError if no scope is given, on a scope that the principal's catalog lacks, or an
 *   object that is not a principal.
 * @example
 * const showButton = hasScopes(principal, 'threats:write');
 */
export function hasScopes<Scope extends string>(
  principal: Principal<Scope>,
  ...scopes: readonly NoInfer<Scope>[]
): boolean {
  return holdsAll(principal, scopes);
}

function holdsAll(principal: Principal, scopes: readonly string[]): boolean {
  const { held, catalog } = VerifiedPrincipal.grantOf(principal);
  assert(scopes.length > 0, 'scopes: name at least one; if none is needed, write [] in the policy');
  for (const scope of scopes) {
    assert(catalog.has(scope), 'scopes: name scopes of the catalog, without a *', scope);
  }
  return scopes.every((scope) => held.has(scope));
}

/**
 * Throws unless the principal was granted all of `scopes`.
 *
 * Not checked: the entity; see {@link requireEntity}.
 *
 * @throws AccessError `insufficient_scope` with `requiredScopes` (RFC 6750 §3.1).
 * @throws TypeError if no scope is given, on a scope that the principal's catalog lacks, or an
 *   object that is not a principal.
 * @example
 * requireScopes(principal, 'threats:read');
 */
export function requireScopes<Scope extends string>(
  principal: Principal<Scope>,
  ...scopes: readonly NoInfer<Scope>[]
): void {
  if (holdsAll(principal, scopes)) return;
  const { keyId } = principal;
  throw new AccessError('insufficient_scope', 'scope_missing', { keyId, requiredScopes: scopes });
}

/**
 * Checks whether the principal can address `entityId`. Returns `false` for anything that is not a
 * lower-case UUID.
 *
 * Not checked: scopes.
 *
 * @throws TypeError on an object that is not a principal.
 * @example
 * const tabs = entities.filter((entity) => canAddress(principal, entity));
 */
export function canAddress(principal: Principal, entityId: string): boolean {
  requirePrincipal(principal);
  // A list, because most keys have one entity and a set would take 200 bytes each.
  return principal.accessibleEntities.includes(entityId);
}

/**
 * Throws unless the principal can address `entityId`.
 *
 * Not checked: scopes.
 *
 * @param entityId The value as the request gave it. Anything other than one lower-case UUID is
 *   refused.
 * @throws AccessError `invalid_request` if it is not a UUID, `entity_forbidden` if the key cannot
 *   address it.
 * @throws TypeError on an object that is not a principal.
 * @example
 * requireEntity(principal, params.entityId); // of the path /entities/:entityId/threats
 */
export function requireEntity(principal: Principal, entityId: unknown): asserts entityId is string {
  if (canAddress(principal, entityId as string)) return;
  const { keyId } = principal;
  const fault = Array.isArray(entityId) ? 'repeated_entity' : 'malformed_entity';
  if (!isUuid(entityId)) throw new AccessError('invalid_request', fault, { keyId });
  throw new AccessError('entity_forbidden', 'entity_not_accessible', { keyId });
}
