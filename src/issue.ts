/** Makes keys: what may come from a request, then on whose authority. */
import type { Authority } from './authority.js';
import { checkAuthority } from './authority.js';
import type { Catalog } from './catalog.js';
import type { KeyringEvent } from './events.js';
import { entityList, expect, expiry, fields, strings, text } from './input.js';
import type { Clock } from './outage.js';
import type { KeyRecord, Metadata, RecordDraft } from './record.js';
import { IssuedKey, readMetadata, toKeyInfo } from './record.js';
import { MAX_SCOPES } from './scope.js';
import type { KeyStore } from './store.js';

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

/** A new key and the record to store for it. */
export type Mint = (draft: Omit<RecordDraft, 'keyId'>) => {
  readonly key: string;
  readonly record: KeyRecord;
};

export interface IssueOptions {
  readonly catalog: Catalog;
  readonly store: KeyStore;
  readonly clock: Clock;
  readonly mint: Mint;
  readonly emit: (event: KeyringEvent) => void;
}

export function createIssue(options: IssueOptions) {
  const { catalog, store, clock, mint, emit } = options;
  return async (input: IssueInput, authority: Authority): Promise<IssuedKey> => {
    const { entityUuid, ceiling } = checkAuthority(authority);
    const given = fields(input, INPUT, 'issue');
    const now = clock();
    const draft = {
      name: text(given.name, 100, 'name'),
      entityUuid,
      accessibleEntities: entityList(entityUuid, given.accessibleEntities, 'accessibleEntities'),
      scopes: grant(catalog, strings(given.scopes, 'scopes'), given.justification !== undefined),
      justification: given.justification === undefined ? null : text(given.justification, 500, 'justification'),
      metadata: readMetadata(given.metadata),
      createdAt: now,
      expiresAt: expiry(given.expiresAt, now),
      rotatedFrom: null,
    };
    ceiling(draft.scopes, draft.accessibleEntities);
    const { key, record } = mint(draft);
    await store.insert(record);
    emit({ type: 'key.issued', time: now, keyId: record.keyId, entityUuid });
    return new IssuedKey(key, toKeyInfo(record));
  };
}

/** Expands patterns once and for all: a scope that the catalog gains tomorrow widens no key of today. */
function grant(catalog: Catalog, patterns: readonly string[], justified: boolean): readonly string[] {
  expect(patterns.length <= MAX_SCOPES, `scopes: at most ${MAX_SCOPES} of them`);
  const scopes = catalog.expand(patterns);
  expect(scopes.length <= MAX_SCOPES, `scopes: at most ${MAX_SCOPES} after expansion, not ${scopes.length}`);
  const named = new Set(patterns);
  const reserved = scopes.filter((scope) => catalog.isReserved(scope));
  const caught = reserved.filter((scope) => !named.has(scope));
  expect(caught.length === 0, `scopes: a wildcard grants no reserved scope; name ${caught.join(' ')} or narrow it`);
  expect(reserved.length === 0 || justified, `justification: say why ${reserved.join(' ')} is needed`);
  return scopes;
}
