/** Ids of entities that are not UUIDs, which a store may confuse, cut, fold or read as a number. */
import { IDS } from '../../src/testing/store-contract/entity-ids.js';

/** Those of the store contract, and some more. */
export const HOSTILE_IDS: readonly string[] = [...IDS, '7e0', '|a|', '...', ':'];
