/**
 * Keeps keys in this process's memory: the shortest example of the contract. For tests, and for
 * services whose keys may end with the process. Every method is synchronous, so every write is
 * atomic.
 */
import type { KeyStore } from '../../core/store.js';
import { createReads, type Tables } from './reads.js';
import { createWrites } from './writes.js';

/**
 * Makes a store in memory, for up to about 10,000 keys. A key takes about 3 KiB. A page of a
 * listing reads and sorts all keys, which takes 4 ms for 10,000. The store does not limit their
 * number.
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
  return { ...createReads(tables), ...createWrites(tables), isInProcess: true };
}
