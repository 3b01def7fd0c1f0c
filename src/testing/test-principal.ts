/** Principals for the tests of handlers, without a key, a keyring or a store. */
import type { Catalog, ScopeOf } from '../core/catalog.js';
import { ANY_ID, isEntityId, readEntities } from '../core/entity.js';
import { assert, readFields, readStrings } from '../core/input.js';
import { createPrincipal, type Principal } from '../core/principal.js';

/** The caller in the test of a handler. */
export interface TestPrincipalOptions<C extends Catalog = Catalog> {
  /** The catalog that `defineScopes` returned. */
  readonly catalog: C;
  /** Concrete scopes of the catalog. */
  readonly scopes: readonly ScopeOf<C>[];
  /** Default: `00000000-0000-4000-8000-000000000001`. */
  readonly entityId?: string;
  /** Added to `entityId`, which is always accessible. */
  readonly accessibleEntities?: readonly string[];
  /** Default: `00000000-0000-4000-8000-000000000002`. */
  readonly keyId?: string;
  /** Default: `test`. */
  readonly name?: string;
  /** Default: none. */
  readonly metadata?: Principal['metadata'];
  /** Milliseconds since the epoch. Default: `null`, never. */
  readonly expiresAt?: number | null;
  /** Default: `key`. */
  readonly via?: Principal['via'];
}

const OPTIONS: readonly (keyof TestPrincipalOptions)[] = [
  'catalog',
  'scopes',
  'entityId',
  'accessibleEntities',
  'keyId',
  'name',
  'metadata',
  'expiresAt',
  'via',
];

const DEFAULT_ENTITY = '00000000-0000-4000-8000-000000000001';
const DEFAULT_KEY_ID = '00000000-0000-4000-8000-000000000002';

/**
 * Makes a principal that every guard accepts, without a key, a keyring or a store. Use it only in
 * tests: it authenticates nobody, so calling it in a service bypasses authentication.
 *
 * Not checked: `keyId`, `name`, `metadata`, `expiresAt`, `via`.
 *
 * @param options The catalog, the caller's scopes, and any other field that the test is about.
 * @returns A frozen principal like that of `keyring.verify`. Its scopes are unique and in catalog
 *   order.
 * @throws TypeError if the catalog is missing or lacks a scope, an entity is not an id, or an
 *   option is unknown or inherited from a class or a prototype.
 * @example
 * const principal = testPrincipal({ catalog, scopes: ['threats:read'] });
 * expect(listThreats(principal)).toEqual([]);
 */
export function testPrincipal<const C extends Catalog>(
  options: TestPrincipalOptions<C>,
): Principal {
  const fields = readFields(options, OPTIONS, 'testPrincipal');
  const given = fields as unknown as TestPrincipalOptions;
  const { catalog, entityId = DEFAULT_ENTITY } = given;
  assert(
    typeof catalog?.expand === 'function',
    'testPrincipal: catalog: pass the catalog that defineScopes returned',
  );
  const scopes = readStrings(given.scopes, 'scopes');
  for (const scope of scopes) {
    // Unlike `expand`, this also throws on wildcards.
    catalog.describe(scope);
  }
  assert(isEntityId(entityId), `entityId: ${ANY_ID.instead}`, entityId);
  const record = {
    keyId: given.keyId ?? DEFAULT_KEY_ID,
    name: given.name ?? 'test',
    entityId,
    accessibleEntities: readEntities(
      ANY_ID,
      entityId,
      given.accessibleEntities,
      'accessibleEntities',
    ),
    // Unique and in catalog order, as `issue` stores them.
    scopes: Object.freeze(catalog.expand(scopes)),
    metadata: Object.freeze({ ...given.metadata }),
    expiresAt: given.expiresAt ?? null,
  };
  const rules = { knownScopes: new Set<string>(catalog.all), entityKind: ANY_ID };
  return createPrincipal(record, given.via ?? 'key', rules);
}
