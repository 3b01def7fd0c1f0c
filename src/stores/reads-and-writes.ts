/** The two halves of a store. */
import type { KeyStore } from '../core/store.js';

/** What only reads. */
export type Reads = Pick<KeyStore, 'findByDigest' | 'findById' | 'list' | 'summarize'>;

/** What writes. */
export type Writes = Omit<KeyStore, keyof Reads>;
