/**
 * Verifies tokens without a database. jose verifies the signature; `jwt/claims.ts` contains the
 * checks that jose does not make, one per line.
 */
import type { Catalog } from '../core/catalog.js';
import { type EntityIds, readEntityKind } from '../core/entity.js';
import { isStoreError } from '../core/errors.js';
import { createReport } from '../core/events.js';
import { assert, assertFunction, readFields } from '../core/input.js';
import { type Clock, readClock } from '../core/outage.js';
import { createPrincipal, type Principal, type ServiceRules } from '../core/principal.js';
import type { TokenVerifier } from '../core/tokens.js';
import type { TokenAlgorithm } from './algorithms.js';
import {
  holdsAll,
  REQUIRED_CLAIMS,
  readClaims,
  TEXT_CHECKS,
  TOKEN_TYPE,
  tokenRefused,
} from './claims.js';
import { decodeJwt, type JWTVerifyGetKey, jwtVerify } from './jose.js';
import type { JwkSet } from './key-set.js';
import { readAlgorithms, readClockOption, readIdentifier, readTtl } from './token-options.js';
import { readVerificationKeys } from './verification-keys.js';

/** The options of {@link createTokenVerifier}. */
export interface TokenVerifierOptions {
  /** The issuer's name for itself (`iss`). */
  readonly issuer: string;
  /** The issuer's name for this service (`aud`). */
  readonly audience: string;
  /**
   * The issuer's public keys, or the https URL (http on this machine) that publishes them. The
   * verifier fetches a URL when an unknown `kid` appears, and in the background when the set is
   * eight minutes old. It accepts a removed key until the next successful fetch, and for at most
   * fifteen minutes. Each key needs a `kid`, unless you pass a set with only one key directly.
   *
   * You can also pass a promise of a key set, such as `issuer.jwks()`. The verifier checks the set
   * when it arrives, and keeps it. If it has not arrived 5 s after the first token, `verify`
   * rejects with a `StoreError`, whose `causeOf` says why, until it arrives. If the promise rejects
   * or the set is malformed, `verify` always rejects.
   */
  readonly jwks: JwkSet | URL | PromiseLike<JwkSet>;
  /** The accepted algorithms. A token cannot choose another one. */
  readonly algorithms: readonly TokenAlgorithm[];
  readonly catalog: Catalog;
  /** The ids of the service's entities, as its keyring has them. Default: `'uuid'`. */
  readonly entityIds?: EntityIds | undefined;
  /** The maximum accepted lifetime, in seconds: 1 to 86,400. Default: 900. */
  readonly maxTtlSeconds?: number | undefined;
  /**
   * Milliseconds since the epoch; for tests. Default: `Date.now`. A fetched set ages by the
   * machine's clocks.
   */
  readonly now?: Clock | undefined;
  /**
   * Called once with each failed fetch of the key set, however many tokens waited for it. After
   * fifteen minutes without a successful fetch, the verifier accepts no token. Errors of this
   * function are ignored.
   */
  readonly onError?: ((error: unknown) => unknown) | undefined;
}

/** A token verifier. It does not need a keyring. */
export interface JwtVerifier extends TokenVerifier {
  verify(token: string): Promise<Principal>;
  /** Whether the token has the right shape and names the issuer. Not checked: anything else. */
  recognizes(token: string): boolean;
  readonly issuers: readonly string[];
}

/** {@link TokenVerifierOptions}, validated, copied and with defaults. */
interface VerifierSettings extends ServiceRules {
  readonly issuer: string;
  readonly audience: string;
  readonly algorithms: TokenAlgorithm[];
  readonly findKey: JWTVerifyGetKey;
  readonly maxTtlSeconds: number;
  readonly now: Clock;
}

const OPTIONS = [
  'issuer',
  'audience',
  'jwks',
  'algorithms',
  'catalog',
  'entityIds',
  'maxTtlSeconds',
  'now',
  'onError',
] as const;

/**
 * Makes a token verifier (RFC 9068 §4, RFC 8725). Pass it to a keyring as `tokens`, or use it alone
 * without a database. `verify` returns a principal with `via: 'jwt'`, an empty name and no
 * metadata.
 *
 * Not checked when used alone: whether the key of a token is still live; a token is valid until it
 * expires. An ES256 signature has two forms, so distinguish tokens by `jti`, never by their text.
 *
 * @throws TypeError on a malformed option, a private or symmetric key in `jwks`, or a URL that is
 *   not https. A promised key set is not checked yet.
 * @example
 * const tokens = createTokenVerifier({
 *   issuer: 'https://acme.example',
 *   audience: 'https://api.acme.example',
 *   jwks: new URL('https://acme.example/.well-known/jwks.json'),
 *   algorithms: ['ES256'],
 *   catalog,
 * });
 * const principal = await tokens.verify(accessToken);
 */
export function createTokenVerifier(options: TokenVerifierOptions): JwtVerifier {
  const settings = readVerifierOptions(options);
  return Object.freeze({
    verify: (token: string) => verify(settings, token),
    recognizes: (token: string) => issuerOf(token) === settings.issuer,
    issuers: Object.freeze([settings.issuer]),
  });
}

/** Returns the unverified `iss` of a token with the right shape, and undefined for other texts. */
function issuerOf(token: unknown): unknown {
  if (typeof token !== 'string' || !holdsAll(TEXT_CHECKS, token)) return undefined;
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

function readVerifierOptions(options: unknown): VerifierSettings {
  const given = readFields(options, OPTIONS, 'createTokenVerifier');
  const issuer = readIdentifier(given.issuer, 'issuer');
  const audience = readIdentifier(given.audience, 'audience');
  const algorithms = readAlgorithms(given.algorithms);
  const catalog = given.catalog as Catalog | null | undefined;
  const isCatalog = typeof catalog?.expand === 'function';
  assert(isCatalog, 'catalog: pass the catalog that defineScopes returned');
  const now = readClockOption(given.now);
  const maxTtlSeconds = readTtl(given.maxTtlSeconds, 'maxTtlSeconds');
  assertFunction(given.onError, 'onError');
  const report = createReport(given.onError as TokenVerifierOptions['onError']);
  const findKey = readVerificationKeys(given.jwks, algorithms, report);
  const knownScopes = new Set(catalog.all);
  const entityKind = readEntityKind(given.entityIds);
  const rules = { knownScopes, entityKind };
  return { issuer, audience, algorithms, findKey, ...rules, maxTtlSeconds, now };
}

async function verify(settings: VerifierSettings, token: unknown): Promise<Principal> {
  const { issuer, audience, algorithms, findKey, entityKind, now } = settings;
  const time = readClock(now);
  if (typeof token !== 'string' || !holdsAll(TEXT_CHECKS, token)) throw tokenRefused();
  try {
    const { payload } = await jwtVerify(token, findKey, {
      issuer,
      audience,
      algorithms,
      typ: TOKEN_TYPE,
      currentDate: new Date(time),
      requiredClaims: REQUIRED_CLAIMS,
    });
    const longest = settings.maxTtlSeconds;
    const claims = readClaims(payload, { now: time / 1000, longest, entityKind });
    // Checked again, because fetching keys may have taken time.
    if (readClock(now) >= Number(claims.expiresAt)) throw tokenRefused();
    return createPrincipal(claims, 'jwt', settings);
  } catch (error) {
    if (isStoreError(error)) throw error;
    throw tokenRefused();
  }
}
