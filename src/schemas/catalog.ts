/** Checks the catalog that a schema is made for. */
import type { Catalog } from '../core/catalog.js';

/** Throws a `TypeError` unless it looks like what `defineScopes` returned. */
export function assertCatalog(catalog: Catalog): void {
  const isCatalog = Array.isArray((catalog as Catalog | null | undefined)?.all);
  if (!isCatalog) throw new TypeError('catalog: pass what defineScopes returned');
}
