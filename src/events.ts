/** What happened, for logs and audit trails. Nothing here derives from a key, a header or a digest. */
import type { AccessErrorCode, DenialReason } from './errors.js';

/** Times are milliseconds since the epoch. */
export interface KeyringEvent {
  readonly type: 'key.issued' | 'key.revoked' | 'key.rotated' | 'access.granted' | 'access.denied';
  readonly time: number;
  /** The key concerned, of a rotation the successor; `null` where none was recognised. */
  readonly keyId: string | null;
  /** The key's entity, of an access the one addressed; `null` where that was no UUID. */
  readonly entityUuid: string | null;
  /** `key.rotated`: the predecessor, and when it ends. */
  readonly rotatedFrom?: string;
  readonly retireAt?: number;
  /** `access.*`. */
  readonly operation?: string;
  /** `access.denied`; `store_error` where the store or the clock is broken, and the answer was 503. */
  readonly code?: AccessErrorCode | 'store_error';
  readonly reason?: DenialReason | 'store_error';
}

/** Told of each event as it happens; whatever it returns, throws or rejects with is dropped. */
export type EventListener = (event: KeyringEvent) => unknown;
