/** The front door: from a request to a principal, and on to an operation on an entity. */
import { authorizationOf, parseAuthorization } from './authorization.js';
import { type Admit, type Context, openRecord, type UsageRecorder, type Verify } from './context.js';
import { AccessError, isAccessError, isStoreError } from './errors.js';
import { expect, fields, isUuid } from './input.js';
import type { Policy } from './policy.js';
import { createPrincipal, type Principal } from './principal.js';
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
export function createTokenCheck({ store, known }: Context, admit: Admit | null, tokens: TokenVerifier): Verify {
  return async (token) => {
    const claimed = await tokens.verify(token as string);
    if (admit === null) return claimed;
    const row = await store.findById(claimed.keyId);
    if (row?.entityUuid !== claimed.entityUuid) throw new AccessError('invalid_token', 'unknown_key');
    const parent = admit(openRecord(row));
    const both = (side: 'scopes' | 'accessibleEntities') =>
      Object.freeze(parent[side].filter((element) => claimed[side].includes(element)));
    const ends = [parent.expiresAt, claimed.expiresAt].filter((time) => time !== null);
    const expiresAt = ends.length > 0 ? Math.min(...ends) : null;
    const narrowed = { scopes: both('scopes'), accessibleEntities: both('accessibleEntities'), expiresAt };
    return createPrincipal({ ...parent, ...narrowed }, 'jwt', known);
  };
}

export function createAdmit({ clock, emit }: Context, authenticate: Verify, usage: UsageRecorder) {
  return async <Op extends string>(request: unknown, input: AdmitInput<Op>): Promise<Admission> => {
    const { policy, operation, entityUuid: asked } = fields(input, INPUT, 'admit') as AdmitInput<Op>;
    expect(typeof policy?.requires === 'function', 'admit: pass { policy, operation }, the policy from definePolicy');
    // A typo in an operation's name is a TypeError, before anybody is let in or sent away.
    const scopes = policy.requires(operation);
    let keyId: string | null = null;
    let time = Date.now();
    try {
      time = clock();
      const principal = await authenticate(request);
      keyId = principal.keyId;
      const entityUuid = policy.authorize(principal, operation, { entityUuid: asked });
      usage.record(keyId, scopes, time);
      emit({ type: 'access.granted', time, keyId, entityUuid, operation });
      return { principal, entityUuid };
    } catch (error) {
      const broken = isStoreError(error) ? ({ code: 'store_error', reason: 'store_error', keyId } as const) : null;
      const denial = isAccessError(error) ? error : broken;
      const entity = Array.isArray(asked) && asked.length === 1 ? asked[0] : asked;
      const about = { keyId: keyId ?? denial?.keyId ?? null, entityUuid: isUuid(entity) ? entity : null, operation };
      if (denial) emit({ type: 'access.denied', time, ...about, code: denial.code, reason: denial.reason });
      throw error;
    }
  };
}
