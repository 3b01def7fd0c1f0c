/** A store in two parts, so that each can be made by itself. */
import type { KeyStore } from '../core/store.js';

/** The methods that only read. */
export type Reads = Pick<KeyStore, 'findByDigest' | 'findById' | 'list' | 'summarize'>;

/** The methods that write. */
export type Writes = Omit<KeyStore, keyof Reads>;
