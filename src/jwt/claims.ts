/**
 * Checks of a token's spelling, header and claims that jose does not make, one per line. keyscope's
 * issuer writes tokens in only one way, so a token in another form has another origin.
 */
import type { EntityKind } from '../core/entity.js';
import { AccessError, StoreError } from '../core/errors.js';
import type { Principal } from '../core/principal.js';
import { isScope, MAX_SCOPES } from '../core/scope.js';
import { isUuid } from '../core/uuid.js';
import type { JWTPayload } from './jose.js';

/** Makes the one error for every fault in a token, so that all answers have the same bytes. */
export function tokenRefused(): AccessError {
  return new AccessError('invalid_token', 'token_refused');
}

/** Makes the error for an outage, which does not blame the token. */
export function keysUnavailable(cause?: unknown): StoreError {
  return new StoreError('the keys that verify tokens cannot be loaded or used', cause);
}

/**
 * The type of every token (RFC 9068 §2.1). §4 requires the check, so that another kind of JWT from
 * the same issuer does not pass as an access token.
 */
export const TOKEN_TYPE = 'at+jwt';

/** The maximum length of every credential in characters, enough for about 300 entities. */
const MAX_TOKEN = 16_384;

const MAX_NAME = 128;

/**
 * How far an issuer's clock may be ahead of ours. The verifier rejects tokens issued further in the
 * future.
 */
const LEEWAY_SECONDS = 5;

/** Base64url without padding (RFC 7515 §2), three times. */
const PARTS = /^[\w-]*\.[\w-]*\.[\w-]*$/;

/**
 * The possible last characters of a part, by its length modulo 4: unused bits must be zero (RFC
 * 4648 §3.5). A full group of four can end in any character. An ES256 signature still has a second
 * form, so identify tokens by `jti`.
 */
const LAST_CHARACTERS: readonly (string | undefined)[] = [
  undefined,
  '',
  'AQgw',
  'AEIMQUYcgkosw048',
];

const HEADER_PARAMETERS: readonly string[] = ['alg', 'typ', 'kid'];

/** The claims of RFC 9068 §2.2 and keyscope's own. jose rejects a token that lacks one. */
export const REQUIRED_CLAIMS: string[] = [
  'iss',
  'aud',
  'exp',
  'iat',
  'jti',
  'sub',
  'client_id',
  'scope',
  'entity_uuid',
  'accessible_entities',
];

/** Whether this is a text of 1 to 128 characters. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length >= 1 && value.length <= MAX_NAME;
}

/** Checks by name. */
type Checks<Args extends readonly unknown[]> = Readonly<Record<string, (...args: Args) => boolean>>;

/** Whether every check in a table holds. */
export function holdsAll<Args extends readonly unknown[]>(
  checks: Checks<Args>,
  ...args: Args
): boolean {
  return Object.values(checks).every((holds) => holds(...args));
}

/** The checks before decoding. */
export const TEXT_CHECKS: Readonly<Record<string, (token: string) => boolean>> = {
  size: (token) => token.length <= MAX_TOKEN,
  // Two checks, because one expression for both is slower.
  parts: (token) => PARTS.test(token),
  canonical: (token) => token.split('.').every(isCanonical),
};

function isCanonical(part: string): boolean {
  const allowed = LAST_CHARACTERS[part.length % 4];
  return allowed === undefined || allowed.includes(part.slice(-1));
}

/** An unchecked header. */
type Header = object & { readonly kid?: unknown };

/**
 * The checks before finding the key. A token must not bring its own key (`jwk`, `jku`, `x5u`,
 * `x5c`) or use an extension (`crit`, `b64`).
 */
export const HEADER_CHECKS: Readonly<Record<string, (header: Header) => boolean>> = {
  parameters: (header) => Object.keys(header).every((name) => HEADER_PARAMETERS.includes(name)),
  kid: ({ kid }) => isName(kid),
};

/** An unchecked payload, which may contain anything. */
type Claims = Readonly<Record<string, unknown>>;

/** The values to check claims against. */
export interface Bounds {
  /** The current time, in seconds. */
  readonly now: number;
  /** The maximum lifetime of a token, in seconds. */
  readonly longest: number;
  /** The ids that entities can have. */
  readonly entityKind: EntityKind;
  /** The scopes of the token's claim, split once. */
  readonly scopes: readonly string[];
}

/**
 * The checks after the signature. jose has checked `iss`, `aud`, `exp` and `nbf`, and that no claim
 * is missing.
 */
export const CLAIM_CHECKS: Readonly<Record<string, (claims: Claims, bounds: Bounds) => boolean>> = {
  // jose also accepts a list of audiences that includes this service.
  audience: ({ aud }) => typeof aud === 'string',
  issued: ({ iat }) => Number.isSafeInteger(iat),
  expires: ({ exp }) => Number.isSafeInteger(exp),
  past: ({ iat }, { now }) => !(Number(iat) > now + LEEWAY_SECONDS),
  life: ({ iat, exp }, { longest }) => !(Number(exp) - Number(iat) > longest),
  id: ({ jti }) => isName(jti),
  // Rejects a token bound to the sender's key (RFC 7800), which this verifier cannot check.
  unbound: ({ cnf }) => cnf === undefined,
  // Rejects a token that another party uses for the subject (RFC 8693 §4.1). This verifier cannot
  // check that actor, and a principal cannot carry it.
  ownHands: ({ act }) => act === undefined,
  subject: ({ sub }) => isUuid(sub),
  client: ({ sub, client_id }) => client_id === sub,
  scopeText: ({ scope }) => typeof scope === 'string',
  scopes: (_, { scopes }) => scopes.every(isScope),
  scopesDistinct: (_, { scopes }) => isDistinct(scopes),
  scopesCount: (_, { scopes }) => scopes.length <= MAX_SCOPES,
  entities: ({ accessible_entities }, { entityKind }) =>
    listOf(accessible_entities).every(entityKind.holds),
  entitiesDistinct: ({ accessible_entities }) => isDistinct(listOf(accessible_entities)),
  // This also checks that it is an id.
  ownEntity: ({ accessible_entities, entity_uuid }) =>
    listOf(accessible_entities).includes(entity_uuid),
};

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isDistinct(values: readonly unknown[]): boolean {
  return new Set(values).size === values.length;
}

/** The claims for a principal. Trust them only after every check. */
interface CheckedClaims {
  readonly sub: string;
  readonly scope: string;
  readonly entity_uuid: string;
  readonly accessible_entities: readonly string[];
  readonly exp: number;
}

/**
 * Reads a principal from the claims of a token. Its name and metadata are empty, because tokens do
 * not carry them.
 *
 * @throws AccessError `invalid_token` unless every check holds.
 */
export function readClaims(
  payload: JWTPayload,
  given: Omit<Bounds, 'scopes'>,
): Omit<Principal, 'via'> {
  const { scope } = payload;
  const scopes = Object.freeze(splitScopes(scope));
  const bounds: Bounds = { ...given, scopes };
  if (!holdsAll(CLAIM_CHECKS, payload, bounds)) throw tokenRefused();
  const claims = payload as unknown as CheckedClaims;
  return {
    keyId: claims.sub,
    name: '',
    entityId: claims.entity_uuid,
    accessibleEntities: Object.freeze([...claims.accessible_entities]),
    scopes,
    metadata: Object.freeze({}),
    expiresAt: claims.exp * 1000,
  };
}

/** Splits the scopes of a claim (RFC 6749 §3.3). An empty text has none. */
function splitScopes(scope: unknown): string[] {
  if (typeof scope !== 'string' || scope === '') return [];
  return scope.split(' ');
}
