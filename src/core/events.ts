/** What a keyring tells its owner, for logs and audit trails. */
import type { AccessErrorCode, DenialReason } from './errors.js';

/** A key was made. */
interface KeyIssued {
  /** `issue` made a key. */
  readonly type: 'key.issued';
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** The key that this is about. */
  readonly keyId: string;
  /** Whose key it is. */
  readonly entityUuid: string;
}

/** A key was ended for good. */
interface KeyRevoked {
  /** `revoke` ended a key for good. */
  readonly type: 'key.revoked';
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** The key that this is about. */
  readonly keyId: string;
  /** Whose key it is. */
  readonly entityUuid: string;
}

/** A key got a successor. */
interface KeyRotated {
  /** `rotate` gave a key its successor. */
  readonly type: 'key.rotated';
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** The successor. */
  readonly keyId: string;
  /** Whose key it is. */
  readonly entityUuid: string;
  /** The key id of the predecessor. */
  readonly rotatedFrom: string;
  /** When the predecessor ends. Milliseconds since the epoch. */
  readonly retireAt: number;
}

/** `admit` let a caller in. */
interface AccessGranted {
  /** `admit` let a caller in. */
  readonly type: 'access.granted';
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** The key that this is about. */
  readonly keyId: string;
  /** The entity that was addressed and checked. */
  readonly entityUuid: string;
  /** The operation of the policy that was asked for. */
  readonly operation: string;
}

/** `admit` denied a caller, or could not tell who it is. */
interface AccessDenied {
  /** `admit` denied a caller, or could not tell who it is. */
  readonly type: 'access.denied';
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** Null if no key was recognised. */
  readonly keyId: string | null;
  /**
   * Null if what was addressed is not one UUID, or if nothing was addressed and nobody
   * authenticated.
   */
  readonly entityUuid: string | null;
  /** The operation of the policy that was asked for. */
  readonly operation: string;
  /** `store_error`: the store or the clock is broken, and the answer was 503. */
  readonly code: AccessErrorCode | 'store_error';
  /** Why, for the server's log alone: no response says it. */
  readonly reason: DenialReason | 'store_error';
}

/**
 * What happened, for logs and audit trails; `type` determines the fields. Nothing in it derives
 * from a key, a header or a digest.
 */
export type KeyringEvent = KeyIssued | KeyRevoked | KeyRotated | AccessGranted | AccessDenied;

/** Told of each event as it happens; whatever it returns, throws or rejects with is dropped. */
export type EventListener = (event: KeyringEvent) => unknown;

/** Hands an event to the listener. Never throws. */
export type Emit = (event: KeyringEvent) => void;

/**
 * Undefined if there is no listener, so that no event is made. Errors of the listener are dropped:
 * a broken audit log must neither admit nor deny anyone.
 */
export function createEmit(listener: EventListener | undefined): Emit | undefined {
  if (listener === undefined) return undefined;
  // Asynchronous, so that an error that the listener throws becomes a rejection.
  const tell = async (event: KeyringEvent): Promise<unknown> => listener(event);
  return (event) => {
    tell(Object.freeze(event)).catch(() => {});
  };
}
