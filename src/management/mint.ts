/** Makes a key, digests and seals it, and stores its record. */
import type { Context } from '../core/context.js';
import { RECORD_FORMAT } from '../core/encoding.js';
import type { KeyRecord } from '../core/record.js';
import { sealOf } from '../core/seal.js';
import { drawEntropy, randomUuid } from '../core/secret.js';
import { lowered, requireStillActing } from './acting.js';
import { type CheckedGrant, requireCeiling } from './authority.js';
import { createIssuedKey, type IssuedKey } from './info.js';
import { endRow } from './revoke.js';

/** The fields of a new key that `issue` and `rotate` decide. */
export interface Draft {
  readonly name: string;
  readonly accessibleEntities: readonly string[];
  readonly scopes: readonly string[];
  readonly justification: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly issuedUnder: string | null;
  /** For a key whose text nobody gets: who may act as it. */
  readonly trust: string | null;
}

/** A new key and its stored record. */
export interface Minted {
  readonly issued: IssuedKey;
  readonly record: KeyRecord;
}

/** A record that does not have its seal yet. */
type Unsealed = Omit<KeyRecord, 'seal'> & { seal: KeyRecord['seal'] };

/**
 * Makes a key within the ceiling, which must hold before the write and after it. `acting` is the
 * key that makes the call, and `old` the key that the new one replaces, or null.
 */
export async function mint(
  context: Context,
  authority: CheckedGrant,
  draft: Draft,
  acting: KeyRecord | null,
  old: KeyRecord | null,
): Promise<Minted> {
  const check = (now: KeyRecord | null): void =>
    requireCeiling(lowered(authority, now), draft, context.maxLifetimeMs);
  check(acting);
  const key = context.format.complete(drawEntropy(context.random));
  const record = recordOf(context, authority, draft, old, key);
  // Nobody has the plaintext yet. Without one, the key waits until its issuer was checked again.
  const waits = draft.trust !== null && acting !== null;
  await context.store.insert(waits ? { ...record, suspendedAt: draft.createdAt } : record);
  // It was never used, so a key that is ended here gets no event.
  const undo = () => endRow(context, authority, record);
  await requireStillActing(context, authority, undo, check);
  if (waits) await context.store.mark(record.keyId, { kind: 'resume', at: context.clock() });
  return { issued: createIssuedKey(key, record), record };
}

/** Makes a sealed record, as a plain object that every store can accept. */
function recordOf(
  context: Context,
  authority: CheckedGrant,
  draft: Draft,
  old: KeyRecord | null,
  key: string,
): KeyRecord {
  const [scheme] = context.schemes;
  const keyId = randomUuid();
  const record: Unsealed = {
    format: RECORD_FORMAT,
    keyId,
    prefix: context.format.prefix,
    hint: draft.trust === null ? key.slice(-4) : '',
    ...draft,
    digest: scheme.digest(key),
    entityId: authority.entityId,
    createdBy: authority.said.by,
    rotatedFrom: old?.keyId ?? null,
    rootKeyId: old?.rootKeyId ?? keyId,
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
  // Its lists and tables are frozen already.
  return Object.freeze(record);
}
