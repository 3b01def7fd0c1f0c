/** Makes a key, digests and seals it, and stores its record. */
import type { Context } from './context.js';
import { createIssuedKey, type IssuedKey } from './info.js';
import type { KeyRecord } from './record.js';
import { sealedText } from './seal.js';
import { drawEntropy, randomUuid } from './secret.js';

/** What `issue` and `rotate` decide about a new key. */
export interface Draft {
  readonly name: string;
  readonly entityUuid: string;
  readonly accessibleEntities: readonly string[];
  readonly scopes: readonly string[];
  readonly justification: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly rotatedFrom: string | null;
}

export async function mint(context: Context, draft: Draft): Promise<IssuedKey> {
  const { format, random, store } = context;
  const key = format.complete(drawEntropy(random));
  const [scheme] = context.acceptedSchemes();
  const unsealed: KeyRecord = {
    keyId: randomUuid(),
    name: draft.name,
    digest: scheme.digest(key),
    seal: null,
    entityUuid: draft.entityUuid,
    accessibleEntities: draft.accessibleEntities,
    scopes: draft.scopes,
    justification: draft.justification,
    metadata: draft.metadata,
    createdAt: draft.createdAt,
    expiresAt: draft.expiresAt,
    revokedAt: null,
    retireAt: null,
    rotatedFrom: draft.rotatedFrom,
    lastUsedAt: null,
    scopesUsed: Object.freeze({}),
  };
  // A plain object, which every store can accept. Lists and tables are frozen already.
  const record = Object.freeze({ ...unsealed, seal: scheme.seal(sealedText(unsealed)) });
  await store.insert(record);
  return createIssuedKey(key, record);
}
