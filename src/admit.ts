/** The front door: from a request to a principal, and on to an operation on an entity. */
import { authorizationOf, parseAuthorization } from './authorization.js';
import { type Admit, type Context, earliest, findOwn, readRow, type UsageRecorder, type Verify } from './context.js';
import { AccessError, isAccessError, isStoreError } from './errors.js';
import { checkFields, expect, isUuid } from './input.js';
import type { Policy } from './policy.js';
import { createPrincipal, type Principal } from './principal.js';
import { isScope } from './scope.js';
import type { TokenVerifier } from './tokens.js';

/** What a request is about to do. */
export interface AdmitInput<Operation extends string = string> {
  readonly policy: Policy<Operation>;
  readonly operation: NoInfer<Operation>;
  /** As the request gave it, or the list of values that its parameter had; nothing of it means the key's own. */
  readonly entityUuid?: unknown;
}

/** Who does it, and on which entity: the one that was checked. Handlers use no other. */
export type Admission = { readonly principal: Principal; readonly entityUuid: string };

const INPUT = ['policy', 'operation', 'entityUuid'] as const;

/** Takes keys and, where there is a token verifier, JWTs: a key never holds a dot and a JWT always does. */
export function createAuthenticate(verify: Verify, verifyToken: Verify = verify): Verify {
  return async (request) => {
    const credential = parseAuthorization(authorizationOf(request));
    if (credential.kind === 'bearer') return (credential.token.includes('.') ? verifyToken : verify)(credential.token);
    if (credential.kind === 'malformed') throw new AccessError('invalid_request', 'malformed_header');
    throw new AccessError('missing_credentials', credential.kind === 'missing' ? 'no_header' : 'other_scheme');
  };
}

/**
 * Takes a token only while the key behind it would authenticate, and for no more than that key holds: the
 * token's scopes and entities are an upper bound on a principal made from the parent's record.
 */
export function createTokenCheck(context: Context, admit: Admit | null, tokens: TokenVerifier): Verify {
  const { known } = context;
  return async (token) => {
    const claimed = checkClaims(await tokens.verify(token as string));
    if (admit === null) return createPrincipal(claimed, 'jwt', known);
    const row = await findOwn(context, claimed.keyId, claimed);
    if (row === null) throw new AccessError('invalid_token', 'unknown_key');
    const parent = admit(readRow(row));
    const [scopes, entities] = [new Set(claimed.scopes), new Set(claimed.accessibleEntities)];
    const narrowed = {
      scopes: Object.freeze(parent.scopes.filter((scope) => scopes.has(scope))),
      accessibleEntities: Object.freeze(parent.accessibleEntities.filter((entity) => entities.has(entity))),
      expiresAt: earliest(parent.expiresAt, claimed.expiresAt),
    };
    return createPrincipal({ ...parent, ...narrowed }, 'jwt', known);
  };
}

/** What a verifier claims, copied and frozen; a `*`, as any other malformed claim, refuses the token. */
function checkClaims(claimed: Principal): Principal {
  const scopes = Object.freeze(Array.from(claimed?.scopes ?? []));
  const accessibleEntities = Object.freeze(Array.from(claimed?.accessibleEntities ?? []));
  const sound = isUuid(claimed?.keyId) && accessibleEntities.every(isUuid) && scopes.every(isScope);
  if (!sound || !isUuid(claimed.entityUuid)) throw new AccessError('invalid_token', 'token_refused');
  return { ...claimed, scopes, accessibleEntities };
}

export function createAdmit({ clock, emit }: Context, authenticate: Verify, usage: UsageRecorder) {
  return async <Op extends string>(request: unknown, input: AdmitInput<Op>): Promise<Admission> => {
    checkFields(input, INPUT, 'admit');
    const { policy, operation, entityUuid: asked } = input;
    expect(typeof policy?.requires === 'function', 'admit: pass { policy, operation }, the policy from definePolicy');
    // A typo in an operation's name is a TypeError, before anybody is let in or sent away.
    const scopes = policy.requires(operation);
    let keyId: string | null = null;
    let own: string | null = null;
    let time = Date.now();
    try {
      time = clock();
      const principal = await authenticate(request);
      ({ keyId, entityUuid: own } = principal);
      const entityUuid = policy.authorize(principal, operation, { entityUuid: asked });
      usage.record(keyId, scopes, time);
      emit({ type: 'access.granted', time, keyId, entityUuid, operation });
      return { principal, entityUuid };
    } catch (error) {
      const broken = isStoreError(error) ? ({ code: 'store_error', reason: 'store_error', keyId } as const) : null;
      const denial = isAccessError(error) ? error : broken;
      const [entity, second] = [asked ?? own].flat();
      const entityUuid = isUuid(entity) && second === undefined ? entity : null;
      if (denial) {
        const { code, reason, keyId: recognised = null } = denial;
        emit({ type: 'access.denied', time, keyId: keyId ?? recognised, entityUuid, operation, code, reason });
      }
      throw error;
    }
  };
}
