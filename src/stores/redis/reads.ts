/** Look-ups and listings. */
import type { KeyRecord } from '../../core/record.js';
import type { ListQuery } from '../../core/store.js';
import { isText } from '../bindable.js';
import type { Reads } from '../reads-and-writes.js';
import { MAX_AT_ONCE } from './concurrency.js';
import { type Keys, toSortKey } from './layout.js';
import type { Link } from './link.js';
import { summarize } from './summarize.js';
import { readByDigest, readIfHasId, walkRecords } from './walk.js';

/** The methods of the store that only read. */
export function createReads(link: Link, keys: Keys): Reads {
  return {
    async findByDigest(digests) {
      const known = digests.filter(isText);
      const rows = await Promise.all(known.map((digest) => readByDigest(link, keys, digest)));
      return rows.filter((row) => row !== null);
    },

    async findById(keyId) {
      if (!isText(keyId)) return null;
      const pointer = keys.pointer(keyId);
      const digest = await link.send(pointer, ['GET', pointer]);
      return digest === null ? null : readIfHasId(link, keys, String(digest), keyId);
    },

    list: (query) => list(link, keys, query),

    // Has one parameter, so that `storeContract` can tell that it accepts a time.
    summarize: (now?: number) => summarize(link, keys, now ?? Date.now()),
  };
}

async function list(link: Link, keys: Keys, query: ListQuery): Promise<KeyRecord[]> {
  const { entityUuid, after = null, limit } = query;
  const found: KeyRecord[] = [];
  if (!isText(entityUuid)) return found;
  // No digest is empty, so a record sorts after its own position.
  const from = after === null ? '+' : `(${toSortKey(after)}`;
  const size = Math.min(limit, MAX_AT_ONCE);
  for await (const rows of walkRecords(link, keys, entityUuid, { from, size })) {
    found.push(...rows);
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
}
