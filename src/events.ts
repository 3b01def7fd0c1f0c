/** What happened, for logs and audit trails. Nothing here derives from a key, a header or a digest. */
import type { AccessErrorCode, DenialReason } from './errors.js';

/** Times are milliseconds since the epoch. */
export type KeyringEvent =
  | {
      readonly type: 'key.issued' | 'key.revoked';
      readonly time: number;
      readonly keyId: string;
      readonly entityUuid: string;
    }
  | {
      readonly type: 'key.rotated';
      readonly time: number;
      /** The successor. */
      readonly keyId: string;
      readonly entityUuid: string;
      readonly rotatedFrom: string;
      /** When the predecessor ends. */
      readonly retireAt: number;
    }
  | {
      readonly type: 'access.granted';
      readonly time: number;
      readonly keyId: string;
      readonly entityUuid: string;
      readonly operation: string;
    }
  | {
      readonly type: 'access.denied';
      readonly time: number;
      /** `null` where no key was recognised. */
      readonly keyId: string | null;
      /** The entity asked for, where that was a UUID. */
      readonly entityUuid: string | null;
      readonly operation: string;
      /** `store_error`: the store or the clock is broken, and the answer was 503. */
      readonly code: AccessErrorCode | 'store_error';
      readonly reason: DenialReason | 'store_error';
    };

export type EventListener = (event: KeyringEvent) => unknown;

/** Tells the listener; whatever it throws or rejects with changes no decision and is dropped. */
export function createEmitter(listener: EventListener | undefined): (event: KeyringEvent) => void {
  if (listener === undefined) return () => {};
  return (event) => {
    try {
      Promise.resolve(listener(Object.freeze(event))).catch(() => {});
    } catch {
      // A broken audit sink is its owner's to watch; it neither opens nor closes a door.
    }
  };
}
