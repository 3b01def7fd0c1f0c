/** The methods that write. They replace records and never change them in place. */
import { type KeyRecord, readRecord } from '../../core/record.js';
import { mergeUsage } from '../../core/usage.js';
import { applyMark } from '../marks.js';
import type { Writes } from '../writes.js';
import type { Tables } from './reads.js';

export function createWrites({ byId, byDigest, idsByEntity, idsByRoot }: Tables): Writes {
  function put(record: KeyRecord): void {
    // Checked only here. A malformed record is kept unchanged; the core rejects it.
    const copy = readRecord(record) ?? structuredClone(record);
    byId.set(copy.keyId, copy);
    byDigest.set(copy.digest, copy);
  }

  return {
    insert(record) {
      const { keyId, digest, entityId, accessibleEntities, rootKeyId, issuedUnder } = record;
      const isKnown = byId.has(keyId) || byDigest.has(digest);
      if (isKnown) throw new Error('a record with this key id or digest exists already');
      const entities = new Set([entityId, ...accessibleEntities]);
      put(record);
      for (const entity of entities) addTo(idsByEntity, entity, keyId);
      addTo(idsByRoot, rootKeyId, keyId);
      const isElsewhere = issuedUnder !== null && issuedUnder !== rootKeyId;
      if (isElsewhere) addTo(idsByRoot, issuedUnder, keyId);
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

/** Adds to the list with this name. */
function addTo(lists: Map<string, string[]>, name: string, item: string): void {
  const list = lists.get(name);
  if (list === undefined) lists.set(name, [item]);
  else list.push(item);
}
