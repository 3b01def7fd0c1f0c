/** What a keyring tells its owner, for logs and audit trails. */
import type { AccessErrorCode, DenialReason } from './errors.js';
import { isObject } from './input.js';
import { createKeyMask, replaceInvisible } from './masking.js';

// ── What happened to keys ───────────────────────────────────────────────────────────────────────

/** What every event of a management call has. */
interface Managed {
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** Who, as the call says. */
  readonly actor?: string | undefined;
  /** Why, as the call says. */
  readonly reason?: string | undefined;
}

/** What a new key can do. */
interface Granted {
  /** Concrete, in catalog order. */
  readonly scopes: readonly string[];
  /** The entities that it can address. */
  readonly accessibleEntities: readonly string[];
  /** When it ends by itself, in milliseconds since the epoch; null for never. */
  readonly expiresAt: number | null;
}

/** A key was made. */
interface KeyIssued extends Managed, Granted {
  /** `issue` made a key. */
  readonly type: 'key.issued';
  /** The key that this is about. */
  readonly keyId: string;
  /** Whose key it is. */
  readonly entityUuid: string;
}

/** A key got a successor. */
interface KeyRotated extends Managed, Granted {
  /** `rotate` gave a key its successor. */
  readonly type: 'key.rotated';
  /** The successor. */
  readonly keyId: string;
  /** Whose key it is. */
  readonly entityUuid: string;
  /** The key id of the predecessor. */
  readonly rotatedFrom: string;
  /** When the predecessor ends. Milliseconds since the epoch. */
  readonly retireAt: number;
}

/** A key was ended for good, suspended, or taken back into use. */
interface KeyMarked extends Managed {
  /** `revoke` or `revokeLineage`, `suspend`, `resume`. */
  readonly type: 'key.revoked' | 'key.suspended' | 'key.resumed';
  /** The key that this is about. */
  readonly keyId: string;
  /** Whose key it is. */
  readonly entityUuid: string;
}

/** An entity cut itself off from another entity's key. */
interface KeyWithdrawn extends Managed {
  /** `withdraw` took an entity out of a key. */
  readonly type: 'key.withdrawn';
  /** The key that this is about. */
  readonly keyId: string;
  /** Whose key it is. */
  readonly entityUuid: string;
  /** The entity that cut itself off. */
  readonly withdrawnEntity: string;
}

/** Somebody asked whose key a string is. */
interface KeyIdentified extends Managed {
  /** `identify` found a key. */
  readonly type: 'key.identified';
  /** The key that this is about. */
  readonly keyId: string;
  /** Whose key it is. */
  readonly entityUuid: string;
}

/** The management calls. */
export type ManagementAction =
  | 'issue'
  | 'rotate'
  | 'revoke'
  | 'revokeLineage'
  | 'suspend'
  | 'resume'
  | 'withdraw'
  | 'list'
  | 'get';

/** A management call was refused: a ceiling, a foreign key, an ended one. */
interface ManagementDenied extends Managed {
  /** A management call was refused. */
  readonly type: 'management.denied';
  /** Which call. */
  readonly action: ManagementAction;
  /** The key that was asked for; null if none was, or if it is no key id. */
  readonly keyId: string | null;
  /** The authority's entity. */
  readonly entityUuid: string;
  /** What the caller was told. */
  readonly code: AccessErrorCode;
  /** Why, for the server's log alone. */
  readonly denialReason: DenialReason;
  /** `ceiling_exceeded`: what was too much. */
  readonly excess?: readonly string[] | undefined;
}

// ── Who came in ─────────────────────────────────────────────────────────────────────────────────

/** What a service says about a request, such as its id and the client's address. */
export type EventContext = Readonly<Record<string, string>>;

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
  /** What `admit` was told about the request. */
  readonly context?: EventContext | undefined;
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
  /** What `admit` was told about the request. */
  readonly context?: EventContext | undefined;
}

/**
 * What happened, for logs and audit trails; `type` determines the fields. Nothing in it derives
 * from a key, a header or a digest.
 */
export type KeyringEvent =
  | KeyIssued
  | KeyRotated
  | KeyMarked
  | KeyWithdrawn
  | KeyIdentified
  | ManagementDenied
  | AccessGranted
  | AccessDenied;

// ── Telling ─────────────────────────────────────────────────────────────────────────────────────

/** Told of each event as it happens; `onError` hears of what it throws or rejects with. */
export type EventListener = (event: KeyringEvent) => unknown;

/** Told of an error that changed no decision; whatever it throws or rejects with is dropped. */
export type ErrorListener = (error: unknown, what: 'usage' | 'event') => unknown;

/** Hands an event to the listener. Never throws. */
export type Emit = (event: KeyringEvent) => void;

/** Hands an error to the listener. Never throws. */
export type Report = ErrorListener;

/** Tells a listener, if there is one. Never throws, whatever becomes of that. */
export function createReport<Given extends readonly unknown[]>(
  listener: ((...given: Given) => unknown) | undefined,
): (...given: Given) => void {
  // Asynchronous, so that an error that the listener throws becomes a rejection.
  const tell = async (...given: Given): Promise<unknown> => listener?.(...given);
  return (...given) => void tell(...given).catch(() => {});
}

/**
 * Undefined if there is no listener, so that no event is made. An error of the listener is
 * reported: a broken audit log must neither admit nor deny anyone.
 */
export function createEmit(listener: EventListener | undefined, report: Report): Emit | undefined {
  if (listener === undefined) return undefined;
  const tell = async (event: KeyringEvent): Promise<unknown> => listener(event);
  return (event) => {
    tell(Object.freeze(event)).catch((error: unknown) => report(error, 'event'));
  };
}

const MAX_CONTEXT_TEXTS = 8;
const MAX_CONTEXT_LENGTH = 200;

/** Reads the context of a request, as a service hands it to `admit`. Never throws. */
export type ContextReader = (value: unknown) => EventContext | undefined;

/**
 * The context as events show it: at most 8 texts, each cut to 200 characters, without keys in any
 * spelling, control or invisible characters. What is no text is left out; nothing is refused.
 */
export function createContextReader(prefix: string): ContextReader {
  const maskKeys = createKeyMask(prefix);

  function clean(text: string): string {
    // Masked before it is cut: of a key, a part would be left.
    return replaceInvisible(maskKeys(text).slice(0, MAX_CONTEXT_LENGTH));
  }

  function read(value: unknown): EventContext | undefined {
    if (!isObject(value)) return undefined;
    const texts: [string, string][] = [];
    for (const [name, text] of Object.entries<unknown>({ ...value })) {
      if (typeof text === 'string') texts.push([clean(name), clean(text)]);
    }
    return Object.freeze(Object.fromEntries(texts.slice(0, MAX_CONTEXT_TEXTS)));
  }

  return (value) => quietly(() => read(value));
}

/**
 * What `read` says about a request. If it throws, as the address of a lost connection does, nothing
 * is said: a context admits and refuses nobody.
 */
export function quietly<T>(read: () => T | undefined): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
