/**
 * Keys in this process's memory: the shortest example of the contract. For tests, and for services
 * whose keys may end with the process. Every method is synchronous, so every write is atomic.
 */
import { type KeyRecord, readRecord } from '../../core/record.js';
import type { KeyStore } from '../../core/store.js';
import { mergeUsage } from '../../core/usage.js';
import { applyMark } from '../marks.js';
import type { Reads, Writes } from '../reads-and-writes.js';
import { changedSince, expiringWithin, liveByScheme, page, sliceOf } from './reads.js';

/** The keys, and by what to find them. */
interface Tables {
  readonly byId: Map<string, KeyRecord>;
  readonly byDigest: Map<string, KeyRecord>;
  /** Key ids by the entities that a key names. These never change: only `insert` writes them. */
  readonly idsByEntity: Map<string, string[]>;
  /** Key ids by `rootKeyId`, which never changes either. */
  readonly idsByRoot: Map<string, string[]>;
}

/**
 * Makes a store in memory. Unbounded: about 3 KiB per key.
 *
 * Not checked: that a process has only one. Each call makes a new store with its own keys.
 *
 * @returns A store for `createKeyring`, whose methods answer synchronously.
 * @example
 * const store = memoryStore();
 * const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers: 'none' });
 */
export function memoryStore(): Required<KeyStore> {
  const tables: Tables = {
    byId: new Map(),
    byDigest: new Map(),
    idsByEntity: new Map(),
    idsByRoot: new Map(),
  };
  return { ...createReads(tables), ...createWrites(tables) };
}

function createReads({ byId, byDigest, idsByEntity, idsByRoot }: Tables): Reads {
  function all(): KeyRecord[] {
    return [...byId.values()];
  }

  return {
    findByDigest: (digests) => findAll(byDigest, digests),
    findById: (keyId) => byId.get(keyId) ?? null,

    list(query) {
      const ids = idsByEntity.get(query.entityUuid) ?? [];
      return page(findAll(byId, ids), query);
    },

    listLineage: (rootKeyId) => findAll(byId, idsByRoot.get(rootKeyId) ?? []),
    summarize: (now?: number) => liveByScheme(all(), now ?? Date.now()),
    listExpiring: (query) => expiringWithin(all(), query),
    listAll: (query) => sliceOf(all(), query),
    listChanged: (query) => changedSince(all(), query),
  };
}

function createWrites({ byId, byDigest, idsByEntity, idsByRoot }: Tables): Writes {
  function put(record: KeyRecord): void {
    // Checked only once, here. A malformed record is kept as it is; the core refuses it.
    const copy = readRecord(record) ?? structuredClone(record);
    byId.set(copy.keyId, copy);
    byDigest.set(copy.digest, copy);
  }

  return {
    insert(record) {
      const { keyId, digest, entityUuid, accessibleEntities, rootKeyId } = record;
      const isKnown = byId.has(keyId) || byDigest.has(digest);
      if (isKnown) throw new Error('a record with this key id or digest exists already');
      const entities = new Set([entityUuid, ...accessibleEntities]);
      put(record);
      for (const entity of entities) addTo(idsByEntity, entity, keyId);
      addTo(idsByRoot, rootKeyId, keyId);
    },

    mark(keyId, mark) {
      const record = byId.get(keyId);
      const marked = record === undefined ? null : applyMark(record, mark);
      if (marked === null) return false;
      put(marked);
      return true;
    },

    touch(entries) {
      for (const { keyId, ...usage } of entries) {
        const record = byId.get(keyId);
        if (record !== undefined) put({ ...record, ...mergeUsage(record, usage) });
      }
    },
  };
}

/** Adds to the list under a name. */
function addTo(lists: Map<string, string[]>, name: string, item: string): void {
  const list = lists.get(name);
  if (list === undefined) lists.set(name, [item]);
  else list.push(item);
}

/** The records under these names, in the order of the names. */
function findAll(records: ReadonlyMap<string, KeyRecord>, names: readonly string[]): KeyRecord[] {
  const found: KeyRecord[] = [];
  for (const name of names) {
    const record = records.get(name);
    if (record !== undefined) found.push(record);
  }
  return found;
}
