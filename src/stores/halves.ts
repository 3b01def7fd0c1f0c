/** The two halves of a store. */
import type { KeyStore } from '../core/store.js';

export type Reads = Pick<KeyStore, 'findByDigest' | 'findById' | 'list' | 'summarize'>;
export type Writes = Omit<KeyStore, keyof Reads>;
