/** The look-ups of a store whose queries cross a network: together, and few of them at a time. */
import type { KeyStore } from '../core/store.js';
import { isUuid } from '../core/uuid.js';
import { batchLookUps, type Find } from './look-ups.js';
import { createQuerySlots } from './query-slots.js';

/** How the store itself looks up. */
interface Finders {
  readonly digests: Find;
  readonly ids: Find;
}

/** @param maxQueries At most this many at a time; null sends a query for each look-up. */
export function createBatchedLookUps(
  { digests, ids }: Finders,
  maxQueries: number | null,
): Pick<KeyStore, 'findByDigest' | 'findById'> {
  const isBatched = maxQueries !== null;
  const slots = isBatched ? createQuerySlots(maxQueries) : undefined;
  const lookUpIds = isBatched ? batchLookUps(ids, ({ keyId }) => keyId, slots) : ids;
  const lookUpDigests = isBatched ? batchLookUps(digests, ({ digest }) => digest, slots) : digests;

  return {
    findByDigest: lookUpDigests,

    async findById(keyId, options) {
      if (!isUuid(keyId)) return null;
      const records = await lookUpIds([keyId], options);
      return records[0] ?? null;
    },
  };
}
