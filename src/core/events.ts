/** The events of a keyring, for logs and audit trails, and how listeners get them. */
import type { AccessErrorCode, DenialReason } from './errors.js';
import { isObject } from './input.js';
import { createKeyMask, maskAndCut, replaceInvisible } from './masking.js';
import type { Trust } from './trust.js';

// ── What happened to keys ───────────────────────────────────────────────────────────────────────

/** The fields of every event of a management call. */
interface Managed {
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** Who acted, as the call states. */
  readonly actor?: string | undefined;
  /** Why, as the call states. */
  readonly reason?: string | undefined;
}

/** The rights of a new key. */
interface Granted {
  /** Concrete, in catalog order. */
  readonly scopes: readonly string[];
  /** The entities that it can address. */
  readonly accessibleEntities: readonly string[];
  /** When it expires, in milliseconds since the epoch; null for never. */
  readonly expiresAt: number | null;
}

/** A key was made. */
interface KeyIssued extends Managed, Granted {
  /** `issue` or `issueKeyless` made a key. */
  readonly type: 'key.issued';
  /** The identities that may act as the key. Only of `issueKeyless`. */
  readonly trust?: Trust | undefined;
  /** The key that this is about. */
  readonly keyId: string;
  /** Whose key it is. */
  readonly entityId: string;
}

/** A key got a successor. */
interface KeyRotated extends Managed, Granted {
  /** `rotate` gave a key its successor. */
  readonly type: 'key.rotated';
  /** The successor. */
  readonly keyId: string;
  /** Whose key it is. */
  readonly entityId: string;
  /** The key id of the predecessor. */
  readonly rotatedFrom: string;
  /** When the predecessor ends. Milliseconds since the epoch. */
  readonly retireAt: number;
}

/** A key was ended for good. */
interface KeyRevoked extends Managed {
  /** `revoke` or `revokeLineage` ended a key. */
  readonly type: 'key.revoked';
  /** The key that this is about. */
  readonly keyId: string;
  /** Whose key it is. */
  readonly entityId: string;
  /**
   * The mark that the row had already, if no seal proved it: another program wrote it, or its
   * pepper is gone. `revokedAt` stays on the record, the rest was replaced.
   */
  readonly found?: FoundMark | undefined;
}

/** A mark of revocation that was found on a row. Null where the row had nothing readable. */
export interface FoundMark {
  /** Milliseconds since the epoch. */
  readonly revokedAt: number | null;
  /** Who, as the row says. */
  readonly endedBy: string | null;
  /** Why, as the row says. */
  readonly endReason: string | null;
}

/** A key was suspended, or taken back into use. */
interface KeyMarked extends Managed {
  /** `suspend`, `resume`. */
  readonly type: 'key.suspended' | 'key.resumed';
  /** The key that this is about. */
  readonly keyId: string;
  /** Whose key it is. */
  readonly entityId: string;
}

/** An entity cut itself off from another entity's key. */
interface KeyWithdrawn extends Managed {
  /** `withdraw` took an entity out of a key. */
  readonly type: 'key.withdrawn';
  /** The key that this is about. */
  readonly keyId: string;
  /** Whose key it is. */
  readonly entityId: string;
  /** The entity that cut itself off. */
  readonly withdrawnEntity: string;
}

/** An operator asked whose key a string is. */
interface KeyIdentified extends Managed {
  /** `identify` found a key. */
  readonly type: 'key.identified';
  /** The key that this is about. */
  readonly keyId: string;
  /** Whose key it is. */
  readonly entityId: string;
}

/** The management calls. */
export type ManagementAction =
  | 'issue'
  | 'issueKeyless'
  | 'rotate'
  | 'revoke'
  | 'revokeLineage'
  | 'suspend'
  | 'resume'
  | 'withdraw'
  | 'list'
  | 'get';

/** A management call was refused: for example a ceiling, a foreign key, or an ended one. */
interface ManagementDenied extends Managed {
  /** A management call was refused. */
  readonly type: 'management.denied';
  /** Which call. */
  readonly action: ManagementAction;
  /** The key that the call named; null if it named none or the text is not a key id. */
  readonly keyId: string | null;
  /** The authority's entity. */
  readonly entityId: string;
  /** The code that the caller got. */
  readonly code: AccessErrorCode;
  /** Why, for the server's log only. */
  readonly denialReason: DenialReason;
  /** `ceiling_exceeded`: the rights that the authority does not cover. */
  readonly excess?: readonly string[] | undefined;
}

// ── Who came in ─────────────────────────────────────────────────────────────────────────────────

/** Details of a request that a service adds to events, such as its id and the client's address. */
export type EventContext = Readonly<Record<string, string>>;

/** `admit` let a caller in. */
interface AccessGranted {
  /** `admit` let a caller in. */
  readonly type: 'access.granted';
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** The key that this is about. */
  readonly keyId: string;
  /** The requested entity, checked. */
  readonly entityId: string;
  /** The requested operation of the policy. */
  readonly operation: string;
  /** The context that was passed to `admit`, cleaned. */
  readonly context?: EventContext | undefined;
}

/** `admit` denied a caller, or could not find out who it is. */
interface AccessDenied {
  /** `admit` denied a caller, or could not find out who it is. */
  readonly type: 'access.denied';
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** Null if no key was recognised. */
  readonly keyId: string | null;
  /**
   * The requested entity. Null if the request did not name exactly one id, or named none and did
   * not authenticate.
   */
  readonly entityId: string | null;
  /** The requested operation of the policy. */
  readonly operation: string;
  /** `store_error`: the store or the clock is broken, and the answer was 503. */
  readonly code: AccessErrorCode | 'store_error';
  /** Why, for the server's log only: no response contains it. */
  readonly reason: DenialReason | 'store_error';
  /** The context that was passed to `admit`, cleaned. */
  readonly context?: EventContext | undefined;
}

/**
 * An event of a keyring, for logs and audit trails. `type` determines the fields. No field derives
 * from a key, a header or a digest.
 */
export type KeyringEvent =
  | KeyIssued
  | KeyRotated
  | KeyRevoked
  | KeyMarked
  | KeyWithdrawn
  | KeyIdentified
  | ManagementDenied
  | AccessGranted
  | AccessDenied;

// ── Listeners ───────────────────────────────────────────────────────────────────────────────────

/** Called with each event as it happens. If it throws or rejects, `onError` gets the error. */
export type EventListener = (event: KeyringEvent) => unknown;

/**
 * Called with an error that changed no decision. If it throws or rejects, that error is dropped.
 */
export type ErrorListener = (error: unknown, what: 'usage' | 'event') => unknown;

/** Hands an event to the listener. Never throws. */
export type Emit = (event: KeyringEvent) => void;

/** Hands an error to the listener. Never throws. */
export type Report = ErrorListener;

/**
 * Makes a function that calls the listener, if there is one, and never throws.
 *
 * @param onFailure Gets an error of the listener. Default: the error is dropped.
 */
export function createReport<Given extends readonly unknown[]>(
  listener: ((...given: Given) => unknown) | undefined,
  onFailure: (error: unknown) => void = () => {},
): (...given: Given) => void {
  // Asynchronous, so that an error that the listener throws becomes a rejection.
  const tell = async (...given: Given): Promise<unknown> => listener?.(...given);
  return (...given) => void tell(...given).catch(onFailure);
}

/**
 * Makes the function that hands events to a listener. Returns undefined without one, so that
 * callers skip building events. It reports an error of the listener: a broken audit log must
 * neither admit nor deny anyone.
 */
export function createEmit(listener: EventListener | undefined, report: Report): Emit | undefined {
  if (listener === undefined) return undefined;
  const tell = createReport(listener, (error) => report(error, 'event'));
  return (event) => tell(Object.freeze(event));
}

const MAX_CONTEXT_TEXTS = 8;
const MAX_CONTEXT_LENGTH = 200;

/** Cleans the context of a request, as a service passes it to `admit`. Never throws. */
export type ContextReader = (value: unknown) => EventContext | undefined;

/**
 * Makes the reader of request contexts. It keeps at most 8 texts, cuts each to 200 characters,
 * masks keys, plain or percent-encoded, and replaces control and invisible characters. It leaves
 * out values that are not texts, and refuses nothing.
 */
export function createContextReader(prefix: string): ContextReader {
  const maskKeys = createKeyMask(prefix);

  function clean(text: string): string {
    return replaceInvisible(maskAndCut(text, maskKeys, MAX_CONTEXT_LENGTH));
  }

  function read(value: unknown): EventContext | undefined {
    if (!isObject(value)) return undefined;
    const texts = Object.entries<unknown>(value as Readonly<Record<string, unknown>>)
      .filter((entry): entry is [string, string] => typeof entry[1] === 'string')
      .slice(0, MAX_CONTEXT_TEXTS)
      .map((entry) => entry.map(clean) as [string, string]);
    return Object.freeze(Object.fromEntries(texts));
  }

  return (value) => quietly(() => read(value));
}

/**
 * Returns the result of `read`, or undefined if it throws, as reading the address of a lost
 * connection does. A context must neither admit nor refuse anyone.
 */
export function quietly<T>(read: () => T | undefined): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
