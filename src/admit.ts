/** The front door: from a request to a principal, and on to an operation on an entity. */
import { authorizationOf, parseAuthorization } from './authorization.js';
import { AccessError, isAccessError, isStoreError } from './errors.js';
import type { KeyringEvent } from './events.js';
import { fields, isUuid } from './input.js';
import type { Clock } from './outage.js';
import type { Policy } from './policy.js';
import type { Principal } from './principal.js';
import { createPrincipal } from './principal.js';
import type { KeyRecord } from './record.js';
import type { KeyStore } from './store.js';
import type { TokenVerifier } from './tokens.js';
import type { UsageRecorder } from './usage.js';

/** What a request is about to do. */
export interface AdmitInput<Operation extends string = string> {
  readonly policy: Policy<Operation>;
  readonly operation: NoInfer<Operation>;
  /** As the request gave it, or the list of values that its parameter had; nothing of it means the key's own. */
  readonly entityUuid?: unknown;
}

/** Who does it, on which entity. */
export interface Admission {
  readonly principal: Principal;
  /** The entity that was checked; handlers use no other. */
  readonly entityUuid: string;
}

export interface AuthenticateOptions {
  readonly verify: (key: unknown) => Promise<Principal>;
  readonly tokens: TokenVerifier | undefined;
  /** Whether a token's parent key is looked up on each use. */
  readonly checkParent: boolean;
  readonly catalog: ReadonlySet<string>;
  readonly store: KeyStore;
  /** Verify's steps from seal to expired. */
  readonly admit: (record: KeyRecord) => Principal;
}

const DENIALS = {
  missing: ['missing_credentials', 'no_header'],
  'other-scheme': ['missing_credentials', 'other_scheme'],
  malformed: ['invalid_request', 'malformed_header'],
} as const;

export function createAuthenticate(options: AuthenticateOptions) {
  const { verify, tokens, checkParent, catalog, store, admit } = options;

  async function verifyToken(verifier: TokenVerifier, token: string): Promise<Principal> {
    const claimed = await verifier.verify(token);
    if (!checkParent) return claimed;
    const parent = await store.findById(claimed.keyId);
    if (parent?.entityUuid !== claimed.entityUuid) throw new AccessError('invalid_token', 'unknown_key');
    const { scopes, accessibleEntities, ...rest } = admit(parent);
    const narrowed = {
      ...rest,
      scopes: Object.freeze(scopes.filter((scope) => claimed.scopes.includes(scope))),
      accessibleEntities: Object.freeze(
        accessibleEntities.filter((entity) => claimed.accessibleEntities.includes(entity)),
      ),
      expiresAt: claimed.expiresAt,
    };
    return createPrincipal(narrowed, 'jwt', catalog);
  }

  return (request: unknown): Promise<Principal> => {
    try {
      const credential = parseAuthorization(authorizationOf(request));
      if (credential.kind !== 'bearer') {
        const [code, reason] = DENIALS[credential.kind];
        return Promise.reject(new AccessError(code, reason));
      }
      // A key never holds a dot and a JWT always does: shape alone tells them apart.
      const { token } = credential;
      return tokens !== undefined && token.includes('.') ? verifyToken(tokens, token) : verify(token);
    } catch (error) {
      return Promise.reject(error);
    }
  };
}

export interface AdmitOptions {
  readonly authenticate: (request: unknown) => Promise<Principal>;
  readonly usage: UsageRecorder;
  readonly clock: Clock;
  readonly emit: (event: KeyringEvent) => void;
}

export function createAdmit(options: AdmitOptions) {
  const { authenticate, usage, clock, emit } = options;

  function report(error: unknown, time: number, operation: string, asked: unknown, keyId: string | null) {
    const denied = isAccessError(error);
    if (!denied && !isStoreError(error)) return;
    emit({
      type: 'access.denied',
      time,
      keyId: denied ? (error.keyId ?? keyId) : keyId,
      entityUuid: isUuid(asked) ? asked : null,
      operation,
      code: denied ? error.code : 'store_error',
      reason: denied ? error.reason : 'store_error',
    });
  }

  return async <Operation extends string>(request: unknown, input: AdmitInput<Operation>): Promise<Admission> => {
    const { policy, operation, entityUuid: asked } = input;
    fields(input, ['policy', 'operation', 'entityUuid'], 'admit');
    // A typo in an operation's name is a TypeError here, before anybody is let in or sent away.
    const scopes = policy.leastScopes([operation]);
    let principal: Principal | undefined;
    try {
      principal = await authenticate(request);
      const entityUuid = policy.authorize(principal, operation, { entityUuid: asked });
      const time = clock();
      usage.record(principal.keyId, scopes, time);
      emit({ type: 'access.granted', time, keyId: principal.keyId, entityUuid, operation });
      return { principal, entityUuid };
    } catch (error) {
      report(error, clock(), operation, asked, principal?.keyId ?? null);
      throw error;
    }
  };
}
