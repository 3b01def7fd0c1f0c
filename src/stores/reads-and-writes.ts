/** A store in two parts, so that each can be made by itself. */
import type { KeyStore } from '../core/store.js';

/** The methods that write. */
export type Writes = Pick<KeyStore, 'insert' | 'mark' | 'touch'>;

/** The methods that only read, those that are optional in the contract included. */
export type Reads = Omit<Required<KeyStore>, keyof Writes>;
