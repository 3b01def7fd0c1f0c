/**
 * The two seals of a record. One vouches for every field that never changes; the other, which takes
 * its place as the key is revoked, also for who revoked it, when and why.
 */
import { equalText } from './bytes.js';
import { encode } from './encoding.js';
import type { KeyRecord } from './record.js';
import type { Scheme } from './secret.js';

/** Every field that never changes, in the order of the encoding: by name. */
const SEALED = [
  'accessibleEntities',
  'createdAt',
  'createdBy',
  'digest',
  'entityUuid',
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

/** What a revocation adds. */
const SEALED_AT_THE_END = ['endReason', 'endedBy', 'revokedAt'] as const;

/** The encoding that the seal of a key covers. */
export function sealedText(record: KeyRecord): string {
  return encodeFields(record, SEALED);
}

/** The encoding that the seal of a revoked key covers, under a secret of its own. */
export function revokedText(record: KeyRecord): string {
  return encodeFields(record, SEALED) + encodeFields(record, SEALED_AT_THE_END);
}

/**
 * Names each field, and leaves out what is null: a later version can seal another nullable field,
 * and records that were sealed without it stay valid.
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

/** The seal that a record has to have: for a revoked key, over its end. Null without a pepper. */
export function sealOf(record: KeyRecord, scheme: Scheme): string | null {
  if (record.revokedAt === null) return scheme.seal?.(sealedText(record)) ?? null;
  return scheme.revocationSeal?.(revokedText(record)) ?? null;
}

/**
 * Whether the seal vouches for the record. Without a pepper, null is what it has to be, and nothing
 * vouches for a `trust`.
 */
export function isSealed(record: KeyRecord, scheme: Scheme): boolean {
  const seal = sealOf(record, scheme);
  if (seal === null) return record.seal === null && record.trust === null;
  return record.seal !== null && equalText(seal, record.seal);
}

/** Whether the seal is that of the key before it was revoked, whatever mark the record has. */
export function isSealedAlive(record: KeyRecord, scheme: Scheme): boolean {
  return isSealed({ ...record, revokedAt: null }, scheme);
}
