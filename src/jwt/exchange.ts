/** Decides what a token may carry: the rights of its principal or a part of them, never more. */
import { readEntities } from '../core/entity.js';
import { MAX_ENTITIES, readFields, readInteger, readStrings } from '../core/input.js';
import {
  canAddress,
  grantedScopes,
  type Principal,
  requirePrincipal,
  rulesOf,
} from '../core/principal.js';

/** The codes of a token endpoint with status 400 (RFC 8693 §2.2.2, RFC 6749 §5.2). */
export type ExchangeErrorCode = 'invalid_request' | 'invalid_scope' | 'invalid_target';

// Lets two copies of the package in one process recognise each other's errors.
const EXCHANGE_ERROR: unique symbol = Symbol.for('keyscope.ExchangeError');

/** Thrown if the requested token cannot be issued. Contains no credential. */
export class ExchangeError extends Error {
  readonly code: ExchangeErrorCode;

  constructor(code: ExchangeErrorCode, problem: string) {
    super(problem);
    this.code = code;
    Object.defineProperty(this, 'name', { value: 'ExchangeError' });
    Object.defineProperty(this, EXCHANGE_ERROR, { value: true });
  }
}

/**
 * Checks whether `value` is an {@link ExchangeError}. Answer its code with status 400.
 *
 * @example
 * if (isExchangeError(error)) {
 *   return json({ error: error.code, error_description: error.message }, 400);
 * }
 */
export function isExchangeError(value: unknown): value is ExchangeError {
  const branded = value as { readonly [EXCHANGE_ERROR]?: unknown } | null | undefined;
  return branded?.[EXCHANGE_ERROR] === true;
}

/**
 * The rights of a token. By default, it has the principal's scopes and entities, and the issuer's
 * lifetime.
 */
export interface ExchangeInput {
  /** Concrete scopes. The principal must have all of them. */
  readonly scopes?: readonly string[] | undefined;
  /** Entities. The principal must be able to address all of them; its own is always included. */
  readonly accessibleEntities?: readonly string[] | undefined;
  /** Seconds, at most the issuer's `ttlSeconds`. */
  readonly ttlSeconds?: number | undefined;
}

/** The answer of a token endpoint, in camel case. */
export interface ExchangedToken {
  readonly accessToken: string;
  readonly tokenType: 'Bearer';
  /** Seconds. */
  readonly expiresIn: number;
  /** Space-delimited (RFC 6749 §3.3). */
  readonly scope: string;
}

/** The granted rights of a token. */
export interface Grant {
  /** In the principal's order. */
  readonly scopes: readonly string[];
  readonly accessibleEntities: readonly string[];
  /** Not yet limited by the key's own expiry. */
  readonly ttlSeconds: number;
}

const FIELDS = ['scopes', 'accessibleEntities', 'ttlSeconds'] as const;

/**
 * Reads the requested rights, and checks that the principal has all of them.
 *
 * @throws ExchangeError with the matching code.
 * @throws TypeError if `principal` is not a principal.
 */
export function readGrant(principal: Principal, input: unknown, maxTtlSeconds: number): Grant {
  requireKeyPrincipal(principal);
  const fields = readRequest(() => readFields(input, FIELDS, 'exchange'));
  const { scopes, accessibleEntities, ttlSeconds } = fields;
  return {
    scopes: readScopes(principal, scopes),
    accessibleEntities: readTargets(principal, accessibleEntities),
    ttlSeconds: readLifetime(ttlSeconds, maxTtlSeconds),
  };
}

function requireKeyPrincipal(principal: Principal): void {
  // Before trusting any of its fields.
  requirePrincipal(principal);
  if (principal.via === 'jwt') {
    throw new ExchangeError('invalid_request', 'A token cannot be exchanged again; send the key.');
  }
}

function readScopes(principal: Principal, scopes: unknown): readonly string[] {
  const granted = grantedScopes(principal);
  if (scopes === undefined) return granted;
  const requested = readRequest(() => readStrings(scopes, 'scopes'));
  if (!requested.every((scope) => granted.includes(scope))) {
    throw new ExchangeError('invalid_scope', 'The key was not granted all of these scopes.');
  }
  return granted.filter((scope) => requested.includes(scope));
}

function readTargets(principal: Principal, entities: unknown): readonly string[] {
  if (entities === undefined) return principal.accessibleEntities;
  const { entityKind } = rulesOf(principal);
  const own = principal.entityId;
  const requested = readRequest(() =>
    readEntities(entityKind, own, entities, 'accessibleEntities', MAX_ENTITIES),
  );
  if (!requested.every((entity) => canAddress(principal, entity))) {
    throw new ExchangeError('invalid_target', 'The key cannot address all of these entities.');
  }
  return requested;
}

function readLifetime(ttlSeconds: unknown, maxTtlSeconds: number): number {
  if (ttlSeconds === undefined) return maxTtlSeconds;
  return readRequest(() => readInteger(ttlSeconds, 1, maxTtlSeconds, 'ttlSeconds'));
}

/** Reports malformed input as the requester's mistake, not as a bug in the service. */
function readRequest<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof TypeError) throw new ExchangeError('invalid_request', error.message);
    throw error;
  }
}
