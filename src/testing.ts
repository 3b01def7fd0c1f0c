/**
 * For tests only: the suites that every store and every adapter must pass, and principals without a keyring.
 * Uses no assertion library and no test runner; what fails throws an `Error` that says which promise was broken.
 */
import type { Catalog, ScopeOf } from './catalog.js';
import { entityList, expect, fields, isUuid } from './errors.js';
import type { Principal } from './principal.js';
import { createPrincipal } from './principal.js';
import type { Metadata } from './record.js';

export { type AdapterSetup, adapterContract, type ServeAdapter, type ServedAdapter } from './adapter-contract.js';
export type { RegisterTest } from './contract.js';
export { type ContractStore, storeContract } from './store-contract.js';

/** What a handler's test says of its caller. */
export interface TestPrincipalOptions<C extends Catalog = Catalog> {
  readonly catalog: C;
  /** Concrete ones of the catalog. */
  readonly scopes: readonly ScopeOf<C>[];
  /** Default: `00000000-0000-4000-8000-000000000001`. */
  readonly entityUuid?: string;
  /** Beside `entityUuid`, which is always included. */
  readonly accessibleEntities?: readonly string[];
  /** Default: `00000000-0000-4000-8000-000000000002`. */
  readonly keyId?: string;
  /** Default: `test`. */
  readonly name?: string;
  readonly metadata?: Metadata;
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
 * Makes a principal that every guard takes, without a key, a keyring or a store. For tests only: nobody was
 * authenticated. A service that calls it outside its tests has no authentication there.
 *
 * Not checked: `keyId`, `name`, `metadata`, `expiresAt`, `via`.
 *
 * @throws TypeError without a catalog, on a scope that the catalog lacks, an entity that is no UUID, an unknown option,
 *   or one that a class or a prototype gives.
 * @example
 * const principal = testPrincipal({ catalog, scopes: ['threats:read'] });
 * expect(listThreats(principal)).toEqual([]);
 */
export function testPrincipal<const C extends Catalog>(options: TestPrincipalOptions<C>): Principal {
  const given = fields(options, PRINCIPAL_OPTIONS, 'testPrincipal') as unknown as TestPrincipalOptions;
  const { catalog, scopes, metadata = {}, entityUuid = '00000000-0000-4000-8000-000000000001' } = given;
  expect(typeof catalog?.expand === 'function', 'testPrincipal: catalog: pass what defineScopes returned');
  const known = new Set<string>(catalog.all);
  expect(Array.isArray(scopes), 'scopes: pass a list of scopes of the catalog');
  for (const scope of scopes) catalog.describe(scope);
  expect(isUuid(entityUuid), 'entityUuid: pass a UUID in lower case', entityUuid);
  const source = {
    keyId: given.keyId ?? '00000000-0000-4000-8000-000000000002',
    name: given.name ?? 'test',
    entityUuid,
    accessibleEntities: entityList(entityUuid, given.accessibleEntities, 'accessibleEntities'),
    // Each once and in catalog order, as `issue` stores them.
    scopes: Object.freeze(catalog.expand(scopes)),
    metadata: Object.freeze({ ...metadata }),
    expiresAt: given.expiresAt ?? null,
  };
  return createPrincipal(source, given.via ?? 'key', known);
}
