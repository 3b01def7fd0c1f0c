/**
 * Short-lived tokens for services behind the gate: a verified principal is exchanged, in the manner
 * of RFC 8693, for a signed JWT (RFC 9068) that other services check without a database.
 *
 * A token never grants more than the key it was exchanged for, and never outlives it.
 * `jwt/exchange.ts` decides what it may carry.
 */
import { AccessError } from '../core/errors.js';
import { assert, readFields } from '../core/input.js';
import { type Clock, readClock } from '../core/outage.js';
import type { Principal } from '../core/principal.js';
import { ALGORITHM_INSTEAD, isTokenAlgorithm, type TokenAlgorithm } from './algorithms.js';
import { TOKEN_TYPE } from './claims.js';
import {
  type ExchangedToken,
  ExchangeError,
  type ExchangeInput,
  type Grant,
  readGrant,
} from './exchange.js';
import {
  type CryptoKey,
  exportJWK,
  type JSONWebKeySet,
  type JWK,
  type KeyObject,
  SignJWT,
} from './jose.js';
import { publicPart, readPublicKeys } from './key-set.js';
import { type LoadKey, readSigningKey } from './signing-key.js';
import { readClockOption, readIdentifier, readKeyName, readTtl } from './token-options.js';

/**
 * In characters. keyscope accepts a header of 16 KiB, and Node accepts 16 KiB for all headers
 * together.
 */
const MAX_ISSUED = 15_000;

/** How a service signs tokens. */
export interface TokenIssuerOptions {
  /** The issuer as others know it (`iss`): an https URL by RFC 9068 §2.2, compared as text. */
  readonly issuer: string;
  /** The identifier of the services that accept the token (`aud`). */
  readonly audience: string;
  /**
   * A private key: a JWK, the text of a PKCS#8 PEM file, a `CryptoKey`, or a Node `KeyObject`. With
   * a non-extractable `CryptoKey`, `exchange` works but `jwks` rejects: publish the public key
   * yourself.
   */
  readonly privateKey: JWK | CryptoKey | KeyObject | string;
  readonly alg: TokenAlgorithm;
  /** Identifies the key in the key set, 1 to 128 characters. A new key needs a new one. */
  readonly kid: string;
  /** The maximum lifetime of a token, and its default, in seconds: 1 to 86,400. Default: 900. */
  readonly ttlSeconds?: number | undefined;
  /**
   * Other public keys in the key set: the next one, so that verifiers know it before it signs, and
   * the previous one, until its last token has expired.
   */
  readonly otherKeys?: readonly JWK[] | undefined;
  /** Milliseconds since the epoch; for tests. Default: `Date.now`. */
  readonly now?: Clock | undefined;
}

/** Made by {@link createTokenIssuer}; frozen. */
export interface TokenIssuer {
  /**
   * Signs a token for a verified principal. It never grants more than the principal has, and
   * expires no later.
   *
   * Call `keyring.authenticate(request, { fresh: true })` before: a token outlives the request, so
   * the principal must not come from a cache, in which a key that has ended, or from which an
   * entity withdrew, can be as it was.
   *
   * Not checked: whether the key behind the principal has ended since it was verified.
   *
   * @throws ExchangeError `invalid_scope` on a scope that the principal was not granted,
   *   `invalid_target` on an entity that it cannot address, or more entities than a header can
   *   carry, `invalid_request` on anything else, including a principal that came by token.
   * @throws AccessError `invalid_token` if the principal has expired by now.
   * @throws TypeError if `principal` is not a principal, or the private key cannot be imported for
   *   `alg`.
   * @example
   * const principal = await keyring.authenticate(request, { fresh: true });
   * const { accessToken } = await issuer.exchange(principal, { scopes: ['threats:read'] });
   */
  exchange(principal: Principal, input?: ExchangeInput): Promise<ExchangedToken>;
  /**
   * The public keys as a JWK Set (RFC 7517 §5), for `/.well-known/jwks.json`.
   *
   * @throws TypeError if the private key is not extractable, or cannot be imported for `alg`.
   */
  jwks(): Promise<JSONWebKeySet>;
}

/** The options after reading: checked, copied, and with defaults. */
interface IssuerSettings {
  readonly issuer: string;
  readonly audience: string;
  readonly kid: string;
  readonly alg: TokenAlgorithm;
  readonly loadKey: LoadKey;
  readonly maxTtlSeconds: number;
  readonly otherKeys: readonly JWK[];
  readonly now: Clock;
}

const OPTIONS = [
  'issuer',
  'audience',
  'privateKey',
  'alg',
  'kid',
  'ttlSeconds',
  'otherKeys',
  'now',
] as const;

const UNPUBLISHED =
  'jwks: this private key is not extractable; pass one that is, or serve ' +
  "{ keys: [{ ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }] } yourself";

/**
 * Makes a token issuer (RFC 9068).
 *
 * Not checked at once: whether a PEM text or a JWK can be imported. `exchange` and `jwks` reject if
 * it cannot.
 *
 * @throws TypeError on a malformed option.
 * @example
 * const issuer = createTokenIssuer({
 *   issuer: 'https://acme.example',
 *   audience: 'https://api.acme.example',
 *   privateKey: JSON.parse(SIGNING_KEY),
 *   alg: 'ES256',
 *   kid: '2026-11',
 * });
 * const principal = await keyring.authenticate(request, { fresh: true });
 * const { accessToken } = await issuer.exchange(principal, { scopes: ['threats:read'] });
 */
export function createTokenIssuer(options: TokenIssuerOptions): TokenIssuer {
  const settings = readIssuerOptions(options);
  return Object.freeze({
    exchange: (principal: Principal, input: ExchangeInput = {}) =>
      exchange(settings, principal, input),
    jwks: () => publish(settings),
  });
}

function readIssuerOptions(options: unknown): IssuerSettings {
  const given = readFields(options, OPTIONS, 'createTokenIssuer');
  const issuer = readIdentifier(given.issuer, 'issuer');
  const audience = readIdentifier(given.audience, 'audience');
  const kid = readKeyName(given.kid);
  const { alg } = given;
  assert(isTokenAlgorithm(alg), `alg: ${ALGORITHM_INSTEAD}`);
  const loadKey = readSigningKey(given.privateKey, alg);
  const now = readClockOption(given.now);
  const maxTtlSeconds = readTtl(given.ttlSeconds, 'ttlSeconds');
  const otherKeys = readOtherKeys(given.otherKeys, kid);
  return { issuer, audience, kid, alg, loadKey, maxTtlSeconds, otherKeys, now };
}

function readOtherKeys(given: unknown, kid: string): readonly JWK[] {
  if (given === undefined) return [];
  const keys = readPublicKeys(given, 'otherKeys');
  const isRepeated = keys.some((key) => key.kid === kid);
  assert(!isRepeated, 'otherKeys: one of them has the kid of the signing key');
  return keys;
}

async function exchange(
  settings: IssuerSettings,
  principal: Principal,
  input: ExchangeInput,
): Promise<ExchangedToken> {
  const iat = Math.floor(readClock(settings.now) / 1000);
  const grant = readGrant(principal, input, settings.maxTtlSeconds);
  const exp = expiryOf(principal, iat + grant.ttlSeconds);
  if (exp <= iat) throw new AccessError('invalid_token', 'expired', { keyId: principal.keyId });
  const key = await settings.loadKey();
  const token = prepareToken(settings, principal, grant);
  const accessToken = await token.setIssuedAt(iat).setExpirationTime(exp).sign(key);
  if (accessToken.length > MAX_ISSUED) {
    const problem = 'The token would be too long: ask for fewer entities.';
    throw new ExchangeError('invalid_target', problem);
  }
  const scope = grant.scopes.join(' ');
  return { accessToken, tokenType: 'Bearer', expiresIn: exp - iat, scope };
}

/** In whole seconds, rounded down: the token ends no later than the key. */
function expiryOf(principal: Principal, latest: number): number {
  if (principal.expiresAt === null) return latest;
  return Math.min(latest, Math.floor(principal.expiresAt / 1000));
}

/** Sets everything in a token except its times (RFC 9068 §2.2). */
function prepareToken(settings: IssuerSettings, principal: Principal, grant: Grant): SignJWT {
  const { issuer, audience, alg, kid } = settings;
  const { keyId, entityUuid } = principal;
  const claims = {
    client_id: keyId,
    scope: grant.scopes.join(' '),
    entity_uuid: entityUuid,
    accessible_entities: grant.accessibleEntities,
  };
  return new SignJWT(claims)
    .setProtectedHeader({ alg, typ: TOKEN_TYPE, kid })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(keyId)
    .setJti(globalThis.crypto.randomUUID());
}

async function publish({ loadKey, alg, kid, otherKeys }: IssuerSettings): Promise<JSONWebKeySet> {
  const key = await loadKey();
  assert(key.extractable, UNPUBLISHED);
  const own: JWK = { ...publicPart(await exportJWK(key)), alg, kid, use: 'sig' };
  return { keys: [own, ...structuredClone(otherKeys)] };
}
