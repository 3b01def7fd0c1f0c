/** Guards an operation: authenticates, authorizes, emits the event and records the usage. */
import { authenticate } from './authenticate.js';
import type { Context } from './context.js';
import { isAccessError, isStoreError } from './errors.js';
import type { EventContext } from './events.js';
import { assert, readFields } from './input.js';
import { type Policy, requestedEntity } from './policy.js';
import type { Principal } from './principal.js';
import type { RequestLike } from './request.js';
import type { Awaitable } from './store.js';
import { isThenable, rejecting } from './thenable.js';

/** The operation that a request asks for. */
export interface AdmitInput<Operation extends string = string> {
  /** An operation of the keyring's policy. */
  readonly operation: Operation;
  /**
   * The entity as the request gave it: its id, or the list of values of its parameter. Default: the
   * key's own entity.
   */
  readonly entityId?: unknown;
  /**
   * Details of the request for its event, such as its id and the client's address. At most 8 texts
   * are kept; each is cut to 200 characters, and anything that looks like a key is masked. A bad
   * value never causes a denial.
   */
  readonly context?: EventContext | undefined;
}

/** The verified caller, and the entity that it may act on. */
export interface Admission<Scope extends string = string> {
  readonly principal: Principal<Scope>;
  /** The entity that was checked. Use only this one in your handler. */
  readonly entityId: string;
}

/**
 * Authenticates in place of `authenticate`, for callers that have already read the credential.
 * `admit` calls it once. It returns the principal or throws the denial.
 */
export type Authenticator = () => Awaitable<Principal>;

/** The part of a keyring that guards use. A wrapper is `{ ...keyring, admit }`. */
export interface Admitting<Operation extends string = string, Scope extends string = string> {
  /** The prefix of its keys, the default realm of challenges. */
  readonly prefix: string;
  /** The table of its operations. Undefined if the keyring was made with `catalog` alone. */
  readonly policy: Policy<Operation>;
  /**
   * Guards one operation, emits its event and records its usage. If you pass a function instead of
   * a request, `admit` calls it once to authenticate.
   */
  admit(
    request: RequestLike | Authenticator,
    input: AdmitInput<Operation>,
  ): Promise<Admission<Scope>>;
}

export async function admit(
  context: Context,
  request: RequestLike | Authenticator,
  input: AdmitInput,
): Promise<Admission> {
  readFields(input, ['operation', 'entityId', 'context'], 'admit');
  const { operation, entityId: asked, context: said } = input;
  const { policy } = context;
  assert(policy !== undefined, 'admit: pass policy, not catalog, to createKeyring');
  // First, so that a typo in an operation's name is a TypeError and never a denial. An
  // authenticator goes before: the MCP gate denies tools that no policy has.
  if (typeof request !== 'function') policy.requires(operation);

  let time: number | null = null;
  let principal: Principal | null = null;
  let entityId: string;
  try {
    time = context.clock();
    const found = typeof request === 'function' ? request() : authenticate(context, request);
    // With a synchronous store, this does not yield to the event loop.
    principal = isThenable(found) ? await found : found;
    entityId = policy.authorize(principal, operation, { entityId: asked });
  } catch (error) {
    reportDenial(context, error, { time, principal, operation, asked, said });
    return rejecting(error);
  }
  const { keyId } = principal;
  context.usage.record(principal, policy.requires(operation), time);
  context.emit?.({
    type: 'access.granted',
    time,
    keyId,
    entityId,
    operation,
    context: context.readEventContext(said),
  });
  return { principal, entityId };
}

/** How far a request got before it was denied. */
interface Attempt {
  /** Null if the clock is broken. */
  readonly time: number | null;
  /** Null if authentication failed. */
  readonly principal: Principal | null;
  readonly operation: string;
  readonly asked: unknown;
  /** The event context that the service passed. */
  readonly said: unknown;
}

const OUTAGE = { code: 'store_error', reason: 'store_error', keyId: null } as const;

/** Emits the event of a denial or an outage. A caller's bug emits none. */
function reportDenial(context: Context, error: unknown, attempt: Attempt): void {
  const { emit } = context;
  if (emit === undefined) return;
  const { principal, operation } = attempt;
  if (!isAccessError(error) && !isStoreError(error)) return;
  const entity = requestedEntity(attempt.asked, principal?.entityId);
  const { code, reason, keyId = null } = isAccessError(error) ? error : OUTAGE;
  emit({
    type: 'access.denied',
    time: attempt.time ?? Date.now(),
    keyId: principal?.keyId ?? keyId,
    entityId: context.entityKind.holds(entity) ? entity : null,
    operation,
    code,
    reason,
    context: context.readEventContext(attempt.said),
  });
}
