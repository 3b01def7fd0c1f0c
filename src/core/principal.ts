/** The verified caller, and the guards for it. Guards throw; the boolean forms are for display. */
import { AccessError } from './errors.js';
import { assert, quote, raise } from './input.js';
import { isScope } from './scope.js';
import { isUuid } from './uuid.js';

/**
 * Who is calling. Frozen, its lists included, so handlers may share it. `metadata` is frozen too,
 * unless it comes from the claims of a custom token verifier (`checkParent: false`). `expiresAt` is
 * when this credential ends, by expiry or retirement: milliseconds since the epoch, or `null` for
 * never.
 */
export type Principal = Readonly<
  Record<'keyId' | 'name' | 'entityUuid', string> & Record<Lists, readonly string[]>
> &
  Readonly<{
    metadata: Readonly<Record<string, string>>;
    expiresAt: number | null;
    via: 'key' | 'jwt';
  }>;
// Scopes as granted: one that the catalog no longer has is shown, but grants nothing.
type Lists = 'accessibleEntities' | 'scopes';

// Keys with the same scopes share a set: 230 bytes less a key. Bounded, because whoever issues keys
// or narrows tokens chooses their scopes.
const SETS = new Map<string, ReadonlySet<string>>();

// Guards require the private set: an object built elsewhere, such as from a request body, or a copy
// of a principal with other scopes, is not a principal.
class VerifiedPrincipal {
  readonly #granted: { readonly held: ReadonlySet<string>; readonly catalog: ReadonlySet<string> };

  constructor(record: Omit<Principal, 'via'>, via: Principal['via'], catalog: ReadonlySet<string>) {
    const { keyId, name, entityUuid, accessibleEntities, scopes, metadata, expiresAt } = record;
    const known = scopes.filter((scope) => catalog.has(scope));
    const held = SETS.get(known.join()) ?? new Set(known);
    if (SETS.size < 1000) SETS.set(known.join(), held);
    this.#granted = { held, catalog };
    const shown: Principal = {
      keyId,
      name,
      entityUuid,
      accessibleEntities,
      scopes,
      metadata,
      expiresAt,
      via,
    };
    Object.freeze(Object.assign(this, shown));
  }

  static granted(principal: unknown) {
    if (typeof principal === 'object' && principal !== null && #granted in principal)
      return principal.#granted;
    throw new TypeError('principal: pass one that this copy of keyscope made; is there a guard?');
  }
}

/**
 * Makes the principal of a record that passed every check. `catalog` is the set of scopes that
 * exist; any other scope grants nothing. Lists are shared with the record, which is frozen. With
 * `Object` as `new.target`, the private field is on an otherwise plain object: it compares and
 * prints as data.
 */
export const createPrincipal = (
  record: Omit<Principal, 'via'>,
  via: Principal['via'],
  catalog: ReadonlySet<string>,
) => Reflect.construct(VerifiedPrincipal, [record, via, catalog], Object) as unknown as Principal;

/**
 * Whether the principal was granted all of `scopes`. For display; to guard, use {@link
 * requireScopes}.
 *
 * Not checked: the entity.
 *
 * @throws TypeError if no scope is given, on a pattern or malformed scope, or an object that is not
 *   a principal.
 * @example
 * const showButton = hasScopes(principal, 'threats:write');
 */
export function hasScopes(principal: Principal, ...scopes: readonly string[]): boolean {
  const { held, catalog } = VerifiedPrincipal.granted(principal);
  assert(
    scopes.length > 0,
    'scopes: name at least one; requiring nothing is a policy entry with []',
  );
  let all = true;
  // A scope in the catalog is concrete, so the grammar is checked only for the others.
  for (const scope of scopes) if (!held.has(scope)) all = !(catalog.has(scope) || concrete(scope));
  return all;
}

/** True, or it throws. */
const concrete = (scope: unknown) =>
  isScope(scope) ||
  raise(new TypeError(`scopes: name concrete scopes, resource:action, not ${quote(scope)}`));

/**
 * Guards by scope: returns if the principal was granted all of `scopes`.
 *
 * Not checked: the entity (see {@link requireEntity}); whether the catalog has the scopes (a policy
 * checks that).
 *
 * @throws AccessError `insufficient_scope` with `requiredScopes` (RFC 6750 §3.1).
 * @throws TypeError if no scope is given, on a pattern or malformed scope, or an object that is not
 *   a principal.
 * @example
 * requireScopes(principal, 'threats:read');
 */
export function requireScopes(principal: Principal, ...scopes: readonly string[]): void {
  if (hasScopes(principal, ...scopes)) return;
  throw new AccessError('insufficient_scope', 'scope_missing', {
    keyId: principal.keyId,
    requiredScopes: scopes,
  });
}

/**
 * Whether the principal can address `entityUuid`; `false` for anything that is not a lower-case
 * UUID.
 *
 * Not checked: scopes.
 *
 * @throws TypeError on an object that is not a principal.
 * @example
 * const tabs = entities.filter((entity) => canAddress(principal, entity));
 */
export const canAddress = (principal: Principal, entityUuid: string): boolean =>
  // A list, not a set: most keys have one entity, and a set would take 200 bytes for each.
  VerifiedPrincipal.granted(principal) !== undefined &&
  principal.accessibleEntities.includes(entityUuid);

/**
 * Guards by entity: returns if the principal can address `entityUuid`.
 *
 * Not checked: scopes.
 *
 * @param entityUuid As the request gave it; anything that is not one lower-case UUID is refused.
 * @throws AccessError `invalid_request` if it is not a UUID, `entity_forbidden` if the key cannot
 *   address it.
 * @throws TypeError on an object that is not a principal.
 * @example
 * requireEntity(principal, params.entityUuid); // of the path /entities/:entityUuid/threats
 */
export function requireEntity(
  principal: Principal,
  entityUuid: unknown,
): asserts entityUuid is string {
  if (canAddress(principal, entityUuid as string)) return;
  if (!isUuid(entityUuid))
    throw new AccessError('invalid_request', 'malformed_entity', { keyId: principal.keyId });
  throw new AccessError('entity_forbidden', 'entity_not_accessible', { keyId: principal.keyId });
}
