/** Reads every key of a store, part by part. */
import { StoreError } from '../../core/errors.js';
import type { KeyRecord } from '../../core/record.js';
import type { KeyStore } from '../../core/store.js';
import { partsOf, type ReadPart } from '../../reports/ask.js';

/** How many rows are read at once. */
const PART = 1000;

/**
 * Yields the rows of all organizations.
 *
 * Not checked: the rows, which may be damaged.
 *
 * @returns Null if the store cannot list everything.
 * @throws StoreError if the store fails.
 */
export function allKeys(store: KeyStore): AsyncGenerator<readonly KeyRecord[]> | null {
  const { listAll } = store;
  if (listAll === undefined) return null;
  const read: ReadPart<KeyRecord> = async (after) => {
    try {
      return await listAll.call(store, { after, limit: PART }, { fresh: true });
    } catch (cause) {
      throw new StoreError('store.listAll failed: see causeOf', cause);
    }
  };
  return partsOf('listAll', read);
}
