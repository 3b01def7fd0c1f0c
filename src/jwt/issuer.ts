/**
 * Issues short-lived tokens for services behind the gate: exchanges a verified principal, in the
 * manner of RFC 8693, for a signed JWT (RFC 9068) that other services verify without a database.
 *
 * A token never grants more than its key and never outlives it. `jwt/exchange.ts` decides what it
 * may carry.
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
 * The maximum length in characters. keyscope accepts a header of 16 KiB, but Node accepts 16 KiB
 * for all headers together.
 */
const MAX_ISSUED = 15_000;

/** The options of {@link createTokenIssuer}. */
export interface TokenIssuerOptions {
  /** The name of the issuer (`iss`): an https URL by RFC 9068 §2.2, compared as text. */
  readonly issuer: string;
  /** The identifier of the services that accept the token (`aud`). */
  readonly audience: string;
  /**
   * A private key: a JWK, the text of a PKCS#8 PEM file, a `CryptoKey`, or a Node `KeyObject`. With
   * a non-extractable `CryptoKey`, `exchange` works but `jwks` rejects, so publish the public key
   * yourself.
   */
  readonly privateKey: JWK | CryptoKey | KeyObject | string;
  readonly alg: TokenAlgorithm;
  /** The id of the key in the key set, 1 to 128 characters. A new key needs a new id. */
  readonly kid: string;
  /** The maximum and default lifetime of a token, in seconds: 1 to 86,400. Default: 900. */
  readonly ttlSeconds?: number | undefined;
  /**
   * Other public keys for the key set: the next one, so that verifiers know it before you sign with
   * it, and the previous one, until its last token has expired.
   */
  readonly otherKeys?: readonly JWK[] | undefined;
  /** Milliseconds since the epoch; for tests. Default: `Date.now`. */
  readonly now?: Clock | undefined;
}

/** Made by {@link createTokenIssuer}; frozen. */
export interface TokenIssuer {
  /**
   * Signs a token for a verified principal. It never grants more than the principal has, and never
   * expires later.
   *
   * Verify the principal with `keyring.authenticate(request, { fresh: true })`. A token outlives
   * the request, and a cached principal may belong to a key that has ended or from which an entity
   * has withdrawn.
   *
   * Not checked: whether the key has ended since the principal was verified.
   *
   * @throws ExchangeError `invalid_scope` if the principal lacks a requested scope,
   *   `invalid_target` if it cannot address a requested entity or a header cannot carry all of
   *   them, and `invalid_request` on other invalid input, including a principal from a token.
   * @throws AccessError `invalid_token` if the principal has expired.
   * @throws TypeError if `principal` is not a principal, or the private key cannot be imported for
   *   `alg`.
   * @example
   * const principal = await keyring.authenticate(request, { fresh: true });
   * const { accessToken } = await issuer.exchange(principal, { scopes: ['threats:read'] });
   */
  exchange(principal: Principal, input?: ExchangeInput): Promise<ExchangedToken>;
  /**
   * Returns the public keys as a JWK Set (RFC 7517 §5), for `/.well-known/jwks.json`.
   *
   * @throws TypeError if the private key is not extractable, or cannot be imported for `alg`.
   */
  jwks(): Promise<JSONWebKeySet>;
}

/** {@link TokenIssuerOptions}, validated, copied and with defaults. */
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
  'jwks: the private key is not extractable. Pass an extractable key, or serve ' +
  "{ keys: [{ ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }] } yourself";

/**
 * Makes a token issuer (RFC 9068).
 *
 * Not checked at once: whether a PEM text or a JWK can be imported. If not, `exchange` and `jwks`
 * reject.
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
  assert(!isRepeated, 'otherKeys: a key has the kid of the signing key. Give each its own kid');
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

/** Returns the expiry in whole seconds, rounded down so that the token never outlives the key. */
function expiryOf(principal: Principal, latest: number): number {
  if (principal.expiresAt === null) return latest;
  return Math.min(latest, Math.floor(principal.expiresAt / 1000));
}

/** Sets everything in a token except its times (RFC 9068 §2.2). */
function prepareToken(settings: IssuerSettings, principal: Principal, grant: Grant): SignJWT {
  const { issuer, audience, alg, kid } = settings;
  const { keyId, entityId } = principal;
  const claims = {
    client_id: keyId,
    scope: grant.scopes.join(' '),
    entity_uuid: entityId,
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
