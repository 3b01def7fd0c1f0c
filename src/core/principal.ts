/** The verified caller, and the guards for it. Guards throw; the boolean forms are for display. */
import type { EntityKind } from './entity.js';
import { AccessError } from './errors.js';
import { assert } from './input.js';
import { Itself, type KeyRecord, type Usage } from './record.js';

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

/** The rules of the service that made a principal. */
export interface ServiceRules {
  /** Every scope of the catalog. A scope that is not in it grants nothing. */
  readonly knownScopes: ReadonlySet<string>;
  /** The ids that requests can name. */
  readonly entityKind: EntityKind;
}

/** The fields of a principal that nobody sees. */
interface Hidden {
  readonly rules: ServiceRules;
  /** Replaced when this process writes usage of the key. */
  stored: StoredUsage;
}

/**
 * Guards require the private field. An object built elsewhere, for example from a request body, is
 * not a principal, and neither is a copy of one with other scopes.
 */
class VerifiedPrincipal extends Itself {
  readonly #hidden: Hidden;

  constructor(shown: Principal, hidden: Hidden) {
    super(shown);
    this.#hidden = hidden;
  }

  static hiddenOf(value: unknown): Hidden {
    if (typeof value === 'object' && value !== null && #hidden in value) return value.#hidden;
    throw new TypeError(
      'principal: pass one that this copy of keyscope made; is an `await` or a guard missing?',
    );
  }
}

/**
 * Makes the principal of a record that passed every check. It shares its lists with the record,
 * which is frozen.
 */
export function createPrincipal(
  fields: PrincipalFields,
  via: Principal['via'],
  rules: ServiceRules,
): Principal {
  const { keyId, name, entityId, accessibleEntities, scopes, metadata, expiresAt } = fields;
  const shown: Principal = {
    keyId,
    name,
    entityId,
    accessibleEntities,
    scopes,
    metadata,
    expiresAt,
    via,
  };
  new VerifiedPrincipal(shown, { rules, stored: fields });
  return Object.freeze(shown);
}

/**
 * Throws unless `value` is a principal that this copy of keyscope made.
 *
 * Not checked: whether its key has ended since.
 */
export function requirePrincipal(value: unknown): asserts value is Principal {
  VerifiedPrincipal.hiddenOf(value);
}

/**
 * Returns the usage that is known to be stored: what the looked-up record had, and what this
 * process has written since. Empty if the key was not looked up.
 */
export function usageOf(principal: Principal): { stored: StoredUsage } {
  return VerifiedPrincipal.hiddenOf(principal);
}

/** Returns the rules of the service that made the principal. */
export function rulesOf(principal: Principal): ServiceRules {
  return VerifiedPrincipal.hiddenOf(principal).rules;
}

/** Returns the scopes that the principal has, without those that left the catalog. */
export function grantedScopes(principal: Principal): string[] {
  const { knownScopes } = rulesOf(principal);
  return principal.scopes.filter((scope) => knownScopes.has(scope));
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
  const { knownScopes } = rulesOf(principal);
  assert(scopes.length > 0, 'scopes: name at least one; if none is needed, write [] in the policy');
  for (const scope of scopes) {
    assert(knownScopes.has(scope), 'scopes: name scopes of the catalog, without a *', scope);
  }
  // Lists, because most keys have few scopes and entities, and a set takes 200 bytes.
  return scopes.every((scope) => principal.scopes.includes(scope));
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
  if (hasScopes(principal, ...scopes)) return;
  const { keyId } = principal;
  throw new AccessError('insufficient_scope', 'scope_missing', { keyId, requiredScopes: scopes });
}

/**
 * Checks whether the principal can address `entityId`. Returns `false` for anything that is not an
 * id.
 *
 * Not checked: scopes.
 *
 * @throws TypeError on an object that is not a principal.
 * @example
 * const tabs = entities.filter((entity) => canAddress(principal, entity));
 */
export function canAddress(principal: Principal, entityId: string): boolean {
  requirePrincipal(principal);
  return principal.accessibleEntities.includes(entityId);
}

/**
 * Throws unless the principal can address `entityId`.
 *
 * Not checked: scopes.
 *
 * @param entityId The value as the request gave it. Anything other than one id is refused.
 * @throws AccessError `invalid_request` if it is not an id of this service (`entityIds`),
 *   `entity_forbidden` if the key cannot address it.
 * @throws TypeError on an object that is not a principal.
 * @example
 * requireEntity(principal, params.entityId); // of the path /entities/:entityId/threats
 */
export function requireEntity(principal: Principal, entityId: unknown): asserts entityId is string {
  if (canAddress(principal, entityId as string)) return;
  const { keyId } = principal;
  const fault = Array.isArray(entityId) ? 'repeated_entity' : 'malformed_entity';
  const { holds, sentence: detail } = rulesOf(principal).entityKind;
  if (!holds(entityId)) throw new AccessError('invalid_request', fault, { keyId, detail });
  throw new AccessError('entity_forbidden', 'entity_not_accessible', { keyId });
}
