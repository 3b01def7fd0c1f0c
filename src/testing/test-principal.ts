/** Principals for the tests of handlers, without a key, a keyring or a store. */
import type { Catalog, ScopeOf } from '../core/catalog.js';
import { assert, readEntities, readFields } from '../core/input.js';
import { createPrincipal, type Principal } from '../core/principal.js';
import { isUuid } from '../core/uuid.js';

/** The caller in the test of a handler. */
export interface TestPrincipalOptions<C extends Catalog = Catalog> {
  readonly catalog: C;
  /** Concrete scopes of the catalog. */
  readonly scopes: readonly ScopeOf<C>[];
  /** Default: `00000000-0000-4000-8000-000000000001`. */
  readonly entityUuid?: string;
  /** In addition to `entityUuid`, which is always included. */
  readonly accessibleEntities?: readonly string[];
  /** Default: `00000000-0000-4000-8000-000000000002`. */
  readonly keyId?: string;
  /** Default: `test`. */
  readonly name?: string;
  readonly metadata?: Principal['metadata'];
  /** Milliseconds since the epoch. Default: `null`, never. */
  readonly expiresAt?: number | null;
  /** Default: `key`. */
  readonly via?: 'key' | 'jwt';
}

const PRINCIPAL_OPTIONS = [
  'catalog',
  'scopes',
  'entityUuid',
  'accessibleEntities',
  'keyId',
  'name',
  'metadata',
  'expiresAt',
  'via',
] as const;

/**
 * Makes a principal that every guard accepts, without a key, a keyring or a store. For tests only:
 * nobody was authenticated. A service that calls it outside its tests has no authentication there.
 *
 * Not checked: `keyId`, `name`, `metadata`, `expiresAt`, `via`.
 *
 * @throws TypeError without a catalog, on a scope that the catalog lacks, an entity that is not a
 *   UUID, an unknown option, or one inherited from a class or a prototype.
 * @example
 * const principal = testPrincipal({ catalog, scopes: ['threats:read'] });
 * expect(listThreats(principal)).toEqual([]);
 */
export function testPrincipal<const C extends Catalog>(
  options: TestPrincipalOptions<C>,
): Principal {
  const given = readFields(
    options,
    PRINCIPAL_OPTIONS,
    'testPrincipal',
  ) as unknown as TestPrincipalOptions;
  const {
    catalog,
    scopes,
    metadata = {},
    entityUuid = '00000000-0000-4000-8000-000000000001',
  } = given;
  assert(
    typeof catalog?.expand === 'function',
    'testPrincipal: catalog: pass what defineScopes returned',
  );
  const known = new Set<string>(catalog.all);
  assert(Array.isArray(scopes), 'scopes: pass a list of scopes of the catalog');
  for (const scope of scopes) catalog.describe(scope);
  assert(isUuid(entityUuid), 'entityUuid: pass a UUID in lower case', entityUuid);
  const source = {
    keyId: given.keyId ?? '00000000-0000-4000-8000-000000000002',
    name: given.name ?? 'test',
    entityUuid,
    accessibleEntities: readEntities(entityUuid, given.accessibleEntities, 'accessibleEntities'),
    // Each once and in catalog order, as `issue` stores them.
    scopes: Object.freeze(catalog.expand(scopes)),
    metadata: Object.freeze({ ...metadata }),
    expiresAt: given.expiresAt ?? null,
  };
  return createPrincipal(source, given.via ?? 'key', known);
}
