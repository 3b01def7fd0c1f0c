/** The front door: from a request to an operation on an entity, with its event and its usage. */
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
import { isUuid } from './uuid.js';

/** What a request is about to do. */
export interface AdmitInput<Operation extends string = string> {
  readonly policy: Policy<Operation>;
  readonly operation: NoInfer<Operation>;
  /**
   * As the request gave it, or the list of values of its parameter; if there is none, the key's own
   * is meant.
   */
  readonly entityUuid?: unknown;
  /**
   * What events say about the request, such as its id and the client's address: at most 8 texts,
   * each cut to 200 characters and without what looks like a key. It never refuses a request.
   */
  readonly context?: EventContext | undefined;
}

/** The caller, and the entity that it may act on. */
export interface Admission {
  readonly principal: Principal;
  /** The entity that was checked. Handlers must use no other. */
  readonly entityUuid: string;
}

/**
 * For callers that have already read the credential: returns the principal, or throws the denial.
 * It is called once, instead of `authenticate`.
 */
export type Authenticator = () => Awaitable<Principal>;

/** The part of a keyring that guards call; a wrapper can take its place. */
export interface Admitting {
  /**
   * Guards one operation, with its event and its usage. Given a function instead of a request, it
   * calls that once to authenticate.
   */
  admit<Operation extends string>(
    request: RequestLike | Authenticator,
    input: AdmitInput<Operation>,
  ): Promise<Admission>;
}

export async function admit(
  context: Context,
  request: RequestLike | Authenticator,
  input: AdmitInput,
): Promise<Admission> {
  readFields(input, ['policy', 'operation', 'entityUuid', 'context'], 'admit');
  const { policy, operation, entityUuid: asked } = input;
  const instead = 'admit: pass { policy, operation }, the policy from definePolicy';
  assert(typeof policy?.requires === 'function', instead);
  // A typo in an operation's name is a TypeError, before anybody is admitted or denied.
  const scopes = policy.requires(operation);

  let time: number | null = null;
  let principal: Principal | null = null;
  let entityUuid: string;
  try {
    time = context.clock();
    const found = typeof request === 'function' ? request() : authenticate(context, request);
    // A synchronous store costs no turn of the event loop.
    principal = isThenable(found) ? await found : found;
    entityUuid = policy.authorize(principal, operation, { entityUuid: asked });
  } catch (error) {
    reportDenial(context, error, { time, principal, operation, asked, said: input.context });
    return rejecting(error);
  }
  const { keyId } = principal;
  context.usage.record(principal, scopes, time);
  context.emit?.({
    type: 'access.granted',
    time,
    keyId,
    entityUuid,
    operation,
    context: context.readEventContext(input.context),
  });
  return { principal, entityUuid };
}

/** How far a request came before it was denied. */
interface Attempt {
  /** Null if the clock is broken. */
  readonly time: number | null;
  /** Null if nobody authenticated. */
  readonly principal: Principal | null;
  readonly operation: string;
  readonly asked: unknown;
  /** What the service says about the request. */
  readonly said: unknown;
}

const OUTAGE = { code: 'store_error', reason: 'store_error', keyId: null } as const;

/** Emits the event of a denial or an outage. A bug of the caller has no event. */
function reportDenial(context: Context, error: unknown, attempt: Attempt): void {
  const { emit } = context;
  if (emit === undefined) return;
  const { principal, operation } = attempt;
  if (!isAccessError(error) && !isStoreError(error)) return;
  const entity = requestedEntity(attempt.asked, principal?.entityUuid);
  const { code, reason, keyId = null } = isAccessError(error) ? error : OUTAGE;
  emit({
    type: 'access.denied',
    time: attempt.time ?? Date.now(),
    keyId: principal?.keyId ?? keyId,
    entityUuid: isUuid(entity) ? entity : null,
    operation,
    code,
    reason,
    context: context.readEventContext(attempt.said),
  });
}
