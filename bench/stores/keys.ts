/** Keys without plaintexts, by their number. */
import { createHash } from 'node:crypto';
import type { KeyRecord } from 'keyscope';
import { ENTITY, idOf } from '../keys.ts';

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
    keyId: idOf(index),
    name: 'integration',
    digest: digestOf(index),
    seal: null,
    entityUuid: ENTITY,
    accessibleEntities: [ENTITY],
    scopes: ['threats:read', 'decoys:read'],
    justification: null,
    metadata: {},
    createdAt: 1_700_000_000_000 + index,
    expiresAt: null,
    revokedAt: null,
    retireAt: null,
    rotatedFrom: null,
    lastUsedAt: null,
    scopesUsed: {},
  };
}
