/** The front door: from a request to a principal, and on to an operation on an entity. */
import { authorizationOf, parseAuthorization } from './authorization.js';
import { type Context, earliest, findOwn, readRow } from './context.js';
import { AccessError, checkFields, expect, isAccessError, isStoreError, isUuid, raise } from './errors.js';
import type { Policy } from './policy.js';
import { createPrincipal, type Principal } from './principal.js';
import { isScope } from './scope.js';
import type { Awaitable } from './store.js';
import { requireLive, verify } from './verify.js';

/** What a request is about to do. */
export interface AdmitInput<Operation extends string = string> {
  readonly policy: Policy<Operation>;
  readonly operation: NoInfer<Operation>;
  /** As the request gave it, or the list of values that its parameter had; nothing of it means the key's own. */
  readonly entityUuid?: unknown;
}

/** Who does it, and on which entity: the one that was checked. Handlers use no other. */
export type Admission = { readonly principal: Principal; readonly entityUuid: string };

const OUTAGE = { code: 'store_error', reason: 'store_error', keyId: null } as const;

/** Takes keys and, where there is a token verifier, JWTs: a key never holds a dot and a JWT always does. */
export function authenticate(context: Context, request: unknown): Awaitable<Principal> {
  const credential = parseAuthorization(authorizationOf(request));
  if (credential.kind === 'bearer')
    return (credential.token.includes('.') ? verifyToken : verify)(context, credential.token);
  if (credential.kind === 'malformed') throw new AccessError('invalid_request', 'malformed_header');
  throw new AccessError('missing_credentials', credential.kind === 'missing' ? 'no_header' : 'other_scheme');
}

/**
 * Takes a token only while the key behind it would authenticate, and for no more than that key holds: the
 * token's scopes and entities are an upper bound on a principal made from the parent's record. Without
 * `checkParent` the key is not looked up. The claims are copied and frozen; a `*`, as any other malformed claim, is refused.
 */
async function verifyToken(context: Context, token: string): Promise<Principal> {
  if (context.tokens === undefined) return verify(context, token); // Which refuses it: a key holds no dot.
  const claims = await context.tokens.verify(token);
  const scopes = Object.freeze(Array.from(claims?.scopes ?? []));
  const accessibleEntities = Object.freeze(Array.from(claims?.accessibleEntities ?? []));
  const claimed = { ...claims, scopes, accessibleEntities };
  const uuids = [claimed.keyId, claimed.entityUuid, ...accessibleEntities];
  if (!uuids.every(isUuid) || !scopes.every(isScope)) throw new AccessError('invalid_token', 'token_refused');
  if (!context.checkParent) return createPrincipal(claimed, 'jwt', context.known);
  const row = await findOwn(context, claimed, claimed.keyId);
  const parent = requireLive(context, readRow(row ?? raise(new AccessError('invalid_token', 'unknown_key'))));
  // One set for both: no scope is a UUID.
  const bound = new Set([...scopes, ...accessibleEntities]);
  const narrow = (held: readonly string[]) => Object.freeze(held.filter((each) => bound.has(each)));
  const narrowed = { scopes: narrow(parent.scopes), accessibleEntities: narrow(parent.accessibleEntities) };
  const expiresAt = earliest(parent.expiresAt, claimed.expiresAt);
  // Again: the look-up took its time.
  if (expiresAt !== null && context.clock() >= expiresAt) throw new AccessError('invalid_token', 'expired');
  return createPrincipal({ ...parent, ...narrowed, expiresAt }, 'jwt', context.known);
}

export async function admit(context: Context, request: unknown, input: AdmitInput): Promise<Admission> {
  const { clock, emit, usage } = context;
  checkFields(input, ['policy', 'operation', 'entityUuid'], 'admit');
  const { policy, operation, entityUuid: asked } = input;
  expect(typeof policy?.requires === 'function', 'admit: pass { policy, operation }, the policy from definePolicy');
  // A typo in an operation's name is a TypeError, before anybody is let in or sent away.
  const scopes = policy.requires(operation);
  let principal: Principal | undefined;
  let time: number | undefined;
  try {
    time = clock();
    const found = authenticate(context, request);
    principal = 'then' in found ? await found : found;
    const entityUuid = policy.authorize(principal, operation, { entityUuid: asked });
    usage.record(principal.keyId, scopes, time);
    emit?.({ type: 'access.granted', time, keyId: principal.keyId, entityUuid, operation });
    return { principal, entityUuid };
  } catch (error) {
    if (emit === undefined || (!isAccessError(error) && !isStoreError(error))) throw error;
    time ??= Date.now();
    const { code, reason, keyId = null } = isAccessError(error) ? error : OUTAGE;
    const [entity, second] = [asked ?? principal?.entityUuid].flat();
    const entityUuid = isUuid(entity) && second === undefined ? entity : null;
    emit({ type: 'access.denied', time, keyId: principal?.keyId ?? keyId, entityUuid, operation, code, reason });
    throw error;
  }
}
