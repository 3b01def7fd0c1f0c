/**
 * The two seals of a record. The first vouches for every field that never changes. When the key is
 * revoked, the second replaces it, and also vouches for who revoked the key, when and why.
 */
import { equalText } from './bytes.js';
import { encode } from './encoding.js';
import type { KeyRecord } from './record.js';
import type { Scheme } from './secret.js';

/** Every field that never changes, in the order of the encoding, which is by name. */
const SEALED = [
  'accessibleEntities',
  'createdAt',
  'createdBy',
  'digest',
  'entityId',
  'expiresAt',
  'format',
  'hint',
  'issuedUnder',
  'justification',
  'keyId',
  'metadata',
  'name',
  'prefix',
  'rootKeyId',
  'rotatedFrom',
  'scopes',
  'trust',
] as const satisfies readonly (keyof KeyRecord)[];

/** The fields that a revocation adds. */
const SEALED_AT_THE_END = ['endReason', 'endedBy', 'revokedAt'] as const;

/** Returns the encoding that the seal of a key covers. */
export function sealedText(record: KeyRecord): string {
  return encodeFields(record, SEALED);
}

/** Returns the encoding that the seal of a revoked key covers. That seal has a separate secret. */
export function revokedText(record: KeyRecord): string {
  return encodeFields(record, SEALED) + encodeFields(record, SEALED_AT_THE_END);
}

/**
 * Encodes each field with its name and skips null fields. A later version can therefore seal
 * another nullable field, and records that were sealed without it stay valid.
 */
function encodeFields(record: KeyRecord, names: readonly (keyof KeyRecord)[]): string {
  let text = '';
  let count = 0;
  for (const name of names) {
    const value = record[name];
    if (value === null) continue;
    text += encode(name) + encode(value);
    count++;
  }
  return `f${count}:${text}`;
}

/**
 * Returns the seal that a record must have: for a revoked key, the second. Null without a pepper.
 */
export function sealOf(record: KeyRecord, scheme: Scheme): string | null {
  if (record.revokedAt === null) return scheme.seal?.(sealedText(record)) ?? null;
  return scheme.revocationSeal?.(revokedText(record)) ?? null;
}

/**
 * Checks whether the seal vouches for the record. Without a pepper, the seal must be null, and so
 * must `trust`, because nothing vouches for it.
 */
export function isSealed(record: KeyRecord, scheme: Scheme): boolean {
  const seal = sealOf(record, scheme);
  if (seal === null) return record.seal === null && record.trust === null;
  return record.seal !== null && equalText(seal, record.seal);
}

/** Checks whether the record has the seal from before a revocation, whatever its mark says. */
export function isSealedAlive(record: KeyRecord, scheme: Scheme): boolean {
  return isSealed({ ...record, revokedAt: null }, scheme);
}
