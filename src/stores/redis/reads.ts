/** Look-ups, and the listings of one entity or one lineage. */
import type { KeyRecord } from '../../core/record.js';
import type { CallOptions, ListQuery } from '../../core/store.js';
import { isText } from '../bindable.js';
import type { Reads } from '../reads-and-writes.js';
import { createLookUpLinks, MAX_AT_ONCE } from './concurrency.js';
import { createHashReader } from './fields.js';
import { type Link, linkUntil } from './link.js';
import { type Entry, type Keys, positionOf } from './schema.js';
import { listAll, listChanged, listExpiring } from './slices.js';
import { summarize } from './summarize.js';
import {
  asDamaged,
  type Filed,
  filedByCreation,
  readByDigest,
  readFiled,
  readOrFiled,
  readPointer,
  walkRecords,
} from './walk.js';

/** The methods of the store that only read. They stop once nobody waits for them. */
export function createReads(link: Link, keys: Keys): Reads {
  const lookUpLink = createLookUpLinks(link);
  const read = createHashReader();
  const until = (options?: CallOptions) => linkUntil(link, options?.signal);
  return {
    async findByDigest(digests, options) {
      const known = digests.filter(isText);
      const asked = lookUpLink(options?.signal);
      const rows = await Promise.all(
        known.map((digest) => readByDigest(asked, keys, digest, read)),
      );
      return rows.filter((row) => row !== null);
    },

    findById: (keyId, options) => findById(lookUpLink(options?.signal), keys, keyId),
    list: (query, options) => list(until(options), keys, query),
    listLineage: (rootKeyId, options) => listLineage(until(options), keys, rootKeyId),
    listExpiring: (query, options) => listExpiring(until(options), keys, query),
    listAll: (query, options) => listAll(until(options), keys, query),
    listChanged: (query, options) => listChanged(until(options), keys, query),

    // Has one parameter without a default, so that `storeContract` can tell that it accepts a time.
    summarize: (now?: number, options: CallOptions = {}) =>
      summarize(until(options), keys, now ?? Date.now()),
  };
}

async function findById(link: Link, keys: Keys, keyId: string): Promise<KeyRecord | null> {
  const entry = isText(keyId) ? await readPointer(link, keys, keyId) : null;
  return entry === null ? null : readFiled(link, keys, entry.digest, filedByCreation(entry));
}

async function list(link: Link, keys: Keys, query: ListQuery): Promise<KeyRecord[]> {
  const { prefix, entityUuid, addressing = false, after = null, limit } = query;
  const found: KeyRecord[] = [];
  if (!isText(prefix) || !isText(entityUuid)) return found;
  const index = addressing ? keys.addressing(prefix, entityUuid) : keys.own(prefix, entityUuid);
  // No member ends here, so a record sorts after its own position.
  const from = after === null ? '+' : `(${positionOf({ ...after, time: after.createdAt })}:`;
  const range = { from, to: '-', reversed: true, size: Math.min(limit, MAX_AT_ONCE) };
  for await (const page of walkRecords(link, keys, index, range, filedByCreation)) {
    for (const { row } of page) {
      // It was filed because it addressed the entity, and that never changes.
      const entities: unknown = row.accessibleEntities;
      const isSound = Array.isArray(entities) && entities.includes(entityUuid);
      found.push(isSound ? row : asDamaged(row));
    }
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
}

/** The first key of a lineage is in no index; the others are. */
export async function listLineage(link: Link, keys: Keys, rootKeyId: string): Promise<KeyRecord[]> {
  if (!isText(rootKeyId)) return [];
  const found = await findFirst(link, keys, rootKeyId);
  const toFiled = (entry: Entry): Filed => ({ ...filedByCreation(entry), rootKeyId });
  const range = { from: '-', to: '+', size: MAX_AT_ONCE };
  const index = keys.lineage(rootKeyId);
  for await (const page of walkRecords(link, keys, index, range, toFiled)) {
    found.push(...page.map(({ row }) => row));
  }
  return found;
}

/** The first key of a lineage, also if its row does not say any more that it is. */
async function findFirst(link: Link, keys: Keys, rootKeyId: string): Promise<KeyRecord[]> {
  const entry = await readPointer(link, keys, rootKeyId);
  if (entry === null) return [];
  const row = await readOrFiled(link, keys, entry.digest, filedByCreation(entry));
  if (row === null) return [];
  const { rootKeyId: read = rootKeyId }: Partial<KeyRecord> = row;
  return read === rootKeyId ? [row] : [];
}
