/** Keys without plaintexts, by their number. */
import { createHash } from 'node:crypto';
import type { KeyRecord } from 'keyscope';
import { ENTITY, idOf, PREFIX } from '../keys.ts';

/**
 * What stands in the tables here are digests of numbers: servers make a million of them faster than
 * we send them.
 */
export function digestOf(index: number): string {
  const digest = createHash('sha256').update(`key ${index}`).digest('hex');
  return `s1$${digest}`;
}

export function recordOf(index: number): KeyRecord {
  return {
    format: 1,
    keyId: idOf(index),
    prefix: PREFIX,
    hint: 'KrPP',
    name: 'integration',
    digest: digestOf(index),
    entityUuid: ENTITY,
    accessibleEntities: [ENTITY],
    scopes: ['threats:read', 'decoys:read'],
    justification: null,
    metadata: {},
    createdAt: 1_700_000_000_000 + index,
    createdBy: null,
    expiresAt: null,
    rotatedFrom: null,
    rootKeyId: idOf(index),
    issuedUnder: null,
    trust: null,
    seal: null,
    revokedAt: null,
    suspendedAt: null,
    retireAt: null,
    withdrawn: [],
    endedBy: null,
    endReason: null,
    changedAt: null,
    lastUsedAt: null,
    scopesUsed: {},
  };
}
