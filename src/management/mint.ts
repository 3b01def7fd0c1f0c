/**
 * Makes a key, digests and seals it, and stores its record. If another key issues it, that issuer
 * must be live before and after. No key that is made while its issuer is being ended therefore
 * survives.
 */
import type { Context } from '../core/context.js';
import { RECORD_FORMAT } from '../core/encoding.js';
import { AccessError, isAccessError } from '../core/errors.js';
import type { KeyRecord } from '../core/record.js';
import { sealOf } from '../core/seal.js';
import { drawEntropy, randomUuid } from '../core/secret.js';
import { requireLive, requireRecord } from '../core/verify.js';
import type { CheckedAuthority } from './authority.js';
import { foreignKey } from './find.js';
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
}

/** A new key and its stored record. */
export interface Minted {
  readonly issued: IssuedKey;
  readonly record: KeyRecord;
}

const HINT_LENGTH = 4;

/** A record that does not have its seal yet. */
type Unsealed = Omit<KeyRecord, 'seal'> & { seal: KeyRecord['seal'] };

/** `old` is the key that the new one replaces, or null. */
export async function mint(
  context: Context,
  authority: CheckedAuthority,
  draft: Draft,
  old: KeyRecord | null,
): Promise<Minted> {
  const issuer = await requireIssuer(context, authority);
  const issuedUnder = issuer?.rootKeyId ?? old?.issuedUnder ?? null;
  const { format, random } = context;
  const key = format.complete(drawEntropy(random));
  const record = recordOf(context, authority, { ...draft, issuedUnder }, old, key);
  await context.store.insert(record);
  await requireIssuerStill(context, authority, record);
  return { issued: createIssuedKey(key, record), record };
}

/** Makes a sealed record, as a plain object that every store can accept. */
function recordOf(
  context: Context,
  authority: CheckedAuthority,
  draft: Draft & Pick<KeyRecord, 'issuedUnder'>,
  old: KeyRecord | null,
  key: string,
): KeyRecord {
  const [scheme] = context.schemes;
  const keyId = randomUuid();
  const record: Unsealed = {
    format: RECORD_FORMAT,
    keyId,
    prefix: context.format.prefix,
    hint: key.slice(-HINT_LENGTH),
    ...draft,
    digest: scheme.digest(key),
    entityUuid: authority.entityUuid,
    createdBy: authority.said.by,
    rotatedFrom: old?.keyId ?? null,
    rootKeyId: old?.rootKeyId ?? keyId,
    trust: null,
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

/**
 * Reads the issuer, if a key makes the call: it must be live and of the entity. Bypasses the cache.
 */
async function requireIssuer(
  context: Context,
  { keyId, entityUuid }: CheckedAuthority,
): Promise<KeyRecord | null> {
  if (keyId === null) return null;
  const row = await context.store.findById(keyId, { fresh: true });
  if (row?.prefix !== context.format.prefix) {
    throw new AccessError('invalid_token', 'unknown_key', { keyId });
  }
  if (row.entityUuid !== entityUuid) throw foreignKey();
  const issuer = await requireRecord(row);
  await requireLive(context, issuer);
  return issuer;
}

/** Ends a new key and throws if its issuer has ended in the meantime. */
async function requireIssuerStill(
  context: Context,
  authority: CheckedAuthority,
  made: KeyRecord,
): Promise<void> {
  try {
    await requireIssuer(context, authority);
  } catch (error) {
    if (!isAccessError(error)) throw error;
    // Nobody has the plaintext, so the key gets no event.
    await endRow(context, authority, made);
    throw new AccessError('conflict', 'issuer_ended', { keyId: authority.keyId ?? undefined });
  }
}
