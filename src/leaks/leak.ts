/** A key that was found where it should not be, and what was done with it. */
import type { KeyState } from '../core/record.js';

/** Nothing in it is the key, or helps to guess it. */
export interface Leak {
  /** Who reported it. */
  readonly source: 'github' | 'gitlab' | 'holder';
  /** Where it was found, as the source says it, without what looks like a key; null if not said. */
  readonly where: string | null;
  /** The key that was found. */
  readonly keyId: string;
  /** Whose key it is. */
  readonly entityUuid: string;
  /** What the key begins with. */
  readonly prefix: string;
  /** What it was before anything was done. */
  readonly state: KeyState;
  /** The keys that were taken out of use now, by their ids: none if there was nothing to do. */
  readonly ended: readonly string[];
}

/** What a source says of one find. */
export interface Find {
  readonly token: string;
  readonly where: string | null;
}
