/** Makes a key, digests and seals it, and stores its record. */
import type { Context } from '../core/context.js';
import { RECORD_FORMAT } from '../core/encoding.js';
import type { KeyRecord } from '../core/record.js';
import { sealOf } from '../core/seal.js';
import { drawEntropy, randomUuid } from '../core/secret.js';
import type { CheckedAuthority } from './authority.js';
import { createIssuedKey, type IssuedKey } from './info.js';

/** What `issue` and `rotate` decide about a new key. */
export interface Draft {
  readonly name: string;
  readonly accessibleEntities: readonly string[];
  readonly scopes: readonly string[];
  readonly justification: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: number;
  readonly expiresAt: number | null;
}

/** A new key and its stored record. */
export interface Minted {
  readonly issued: IssuedKey;
  readonly record: KeyRecord;
}

const HINT_LENGTH = 4;

/** A record that gets its seal. */
type Unsealed = Omit<KeyRecord, 'seal'> & { seal: KeyRecord['seal'] };

/** `old`: the key that the new one takes over from; null if there is none. */
export async function mint(
  context: Context,
  authority: CheckedAuthority,
  draft: Draft,
  old: KeyRecord | null,
): Promise<Minted> {
  const { format, random, store } = context;
  const key = format.complete(drawEntropy(random));
  const [scheme] = context.schemes;
  const keyId = randomUuid();
  const record: Unsealed = {
    format: RECORD_FORMAT,
    keyId,
    prefix: format.prefix,
    hint: key.slice(-HINT_LENGTH),
    ...draft,
    digest: scheme.digest(key),
    entityUuid: authority.entityUuid,
    createdBy: authority.said.by,
    rotatedFrom: old?.keyId ?? null,
    rootKeyId: old?.rootKeyId ?? keyId,
    delegation: null,
    seal: null,
    revokedAt: null,
    suspendedAt: null,
    retireAt: null,
    withdrawn: Object.freeze([]),
    endedBy: null,
    endReason: null,
    changedAt: null,
    lastUsedAt: null,
    scopesUsed: Object.freeze({}),
  };
  record.seal = sealOf(record, scheme);
  // A plain object, which every store can accept. Lists and tables are frozen already.
  Object.freeze(record);
  await store.insert(record);
  return { issued: createIssuedKey(key, record), record };
}
