/** Makes keys: what may come from a request, then on whose authority. */
import { type Authority, checkAuthority, requireCeiling } from './authority.js';
import type { Catalog } from './catalog.js';
import { type Context, mint } from './context.js';
import { entityList, expect, expiry, fields, strings, text } from './input.js';
import { IssuedKey, type Metadata, readMetadata } from './record.js';
import { MAX_SCOPES } from './scope.js';

/** What may come from a request. `keyscope/schemas` reads it from JSON. */
export interface IssueInput<Pattern extends string = string> {
  /** 1 to 100 characters after NFC, no control characters. */
  readonly name: string;
  /** Scopes, or wildcards that reach no reserved scope; expanded now. An empty list opens `/me` alone. */
  readonly scopes: readonly Pattern[];
  readonly expiresAt: Date | 'never';
  /** Beside the authority's own entity, which is always included; at most 1,000. */
  readonly accessibleEntities?: readonly string[] | undefined;
  /** Why reserved scopes are needed: 1 to 500 characters, kept on the record. */
  readonly justification?: string | undefined;
  /** At most 16 string pairs and 2 KiB. */
  readonly metadata?: Metadata | undefined;
}

const INPUT = ['name', 'scopes', 'expiresAt', 'accessibleEntities', 'justification', 'metadata'] as const;

export async function issue(context: Context, input: IssueInput, authority: Authority): Promise<IssuedKey> {
  const { catalog, store, clock, emit } = context;
  const by = checkAuthority(authority);
  const given = fields(input, INPUT, 'issue');
  const { justification } = given;
  const now = clock();
  const draft = {
    name: text(given.name, 100, 'name'),
    entityUuid: by.entityUuid,
    accessibleEntities: entityList(by.entityUuid, given.accessibleEntities, 'accessibleEntities'),
    scopes: grant(catalog, strings(given.scopes, 'scopes'), justification !== undefined),
    justification: justification === undefined ? null : text(justification, 500, 'justification'),
    metadata: readMetadata(given.metadata === undefined ? {} : given.metadata),
    createdAt: now,
    expiresAt: expiry(given.expiresAt, now),
    rotatedFrom: null,
  };
  requireCeiling(by, draft);
  const [key, record] = mint(context, draft);
  await store.insert(record);
  emit({ type: 'key.issued', time: now, keyId: record.keyId, entityUuid: by.entityUuid });
  return new IssuedKey(key, record);
}

/** Expands patterns once and for all: a scope that the catalog gains tomorrow widens no key of today. */
function grant(catalog: Catalog, patterns: readonly string[], justified: boolean): readonly string[] {
  expect(patterns.length <= MAX_SCOPES, `scopes: at most ${MAX_SCOPES} of them`);
  const scopes = catalog.expand(patterns);
  expect(scopes.length <= MAX_SCOPES, `scopes: at most ${MAX_SCOPES} after expansion, not ${scopes.length}`);
  const reserved = scopes.filter((scope) => catalog.isReserved(scope));
  const caught = reserved.filter((scope) => !patterns.includes(scope));
  expect(caught.length === 0, `scopes: a wildcard grants no reserved scope; name ${caught.join(' ')} or narrow it`);
  expect(reserved.length === 0 || justified, `justification: say why ${reserved.join(' ')} is needed`);
  return scopes;
}
