/**
 * Short-lived tokens for services behind the gate: a verified principal is exchanged, in the manner
 * of RFC 8693, for a signed JWT (RFC 9068) that other services check without a database.
 *
 * A token never grants more than the key it was exchanged for, and never outlives it. jose signs
 * and verifies; what it does not check is in `jwt/claims.ts`, one check per line.
 */

import type {
  CryptoKey,
  FetchImplementation,
  JSONWebKeySet,
  JWK,
  JWTPayload,
  JWTVerifyGetKey,
  KeyObject,
} from 'jose';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  exportJWK,
  importJWK,
  importPKCS8,
  jwtVerify,
  SignJWT,
} from 'jose';
import type { Catalog } from '../core/catalog.js';
import { AccessError, isStoreError, StoreError } from '../core/errors.js';
import {
  assert,
  MAX_ENTITIES,
  raise,
  readEntities,
  readFields,
  readInteger,
  readStrings,
} from '../core/input.js';
import { type Clock, readClock } from '../core/outage.js';
import { canAddress, createPrincipal, hasScopes, type Principal } from '../core/principal.js';
import type { TokenVerifier } from '../core/tokens.js';
import {
  type Bounds,
  CLAIM_CHECKS,
  HEADER_CHECKS,
  holdsAll,
  isName,
  TEXT_CHECKS,
  words,
} from './claims.js';

/**
 * Asymmetric only: with a shared secret, every service that can check a token can make one (RFC
 * 8725 §3.2).
 */
export type TokenAlgorithm = (typeof ALGORITHMS)[number];
const ALGORITHMS = ['ES256', 'EdDSA', 'RS256', 'PS256'] as const;

// RFC 9068 §2.1; §4 requires the check, so that no other kind of JWT from the same issuer passes
// for an access token.
const TYPE = 'at+jwt';
const DEFAULT_TTL = 900;
const MAX_TTL = 86_400;
const MAX_JWKS = 65_536;
const MAX_ISSUED = 15_000;

// ── Exchange ──────────────────────────────────────────────────────────────────────────────────────────

/** RFC 8693 §2.2.2 and RFC 6749 §5.2: the codes that a token endpoint answers with status 400. */
export type ExchangeErrorCode = 'invalid_request' | 'invalid_scope' | 'invalid_target';

// Lets two copies of the package in one process recognise each other's errors.
const EXCHANGE_ERROR = Symbol.for('keyscope.ExchangeError');

/** The requested token cannot be issued. Contains no credential. */
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
 * Whether `value` is an {@link ExchangeError}: a token endpoint answers its code with status 400.
 *
 * @example
 * if (isExchangeError(error)) return json({ error: error.code, error_description: error.message }, 400);
 */
export const isExchangeError = (value: unknown): value is ExchangeError =>
  Object(value)[EXCHANGE_ERROR] === true;

/**
 * Narrows a token. If omitted, scopes and entities are the principal's, and the life is the
 * issuer's.
 */
export interface ExchangeInput {
  /** Concrete scopes, all of them the principal's. */
  readonly scopes?: readonly string[] | undefined;
  /** Entities, all of them the principal's; its own is always included. */
  readonly accessibleEntities?: readonly string[] | undefined;
  /** Seconds, at most the issuer's `ttlSeconds`. */
  readonly ttlSeconds?: number | undefined;
}

/**
 * What a token endpoint answers, in camel case. `expiresIn`: seconds. `scope`: space-delimited (RFC
 * 6749 §3.3).
 */
export interface ExchangedToken {
  readonly accessToken: string;
  readonly tokenType: 'Bearer';
  readonly expiresIn: number;
  readonly scope: string;
}

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
   * Not checked: whether the key behind the principal was revoked since it was verified.
   *
   * @throws ExchangeError `invalid_scope` on a scope that the principal was not granted,
   *   `invalid_target` on an entity that it cannot address, or more entities than a header can
   *   carry, `invalid_request` on anything else, including a principal that came by token.
   * @throws AccessError `invalid_token` if the principal has expired by now.
   * @throws TypeError if `principal` is not a principal, or the private key cannot be imported for
   *   `alg`.
   */
  exchange(principal: Principal, input?: ExchangeInput): Promise<ExchangedToken>;
  /**
   * The public keys as a JWK Set (RFC 7517 §5), for `/.well-known/jwks.json`.
   *
   * @throws TypeError if the private key is not extractable, or cannot be imported for `alg`.
   */
  jwks(): Promise<JSONWebKeySet>;
}

const UNPUBLISHED =
  'jwks: this private key is not extractable; pass one that is, or serve ' +
  "{ keys: [{ ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }] } yourself";
const ISSUER = [
  'issuer',
  'audience',
  'privateKey',
  'alg',
  'kid',
  'ttlSeconds',
  'otherKeys',
  'now',
] as const;
const EXCHANGE = ['scopes', 'accessibleEntities', 'ttlSeconds'] as const;

/**
 * Makes a token issuer (RFC 9068).
 *
 * Not checked at once: whether a PEM text or a JWK can be imported. `exchange` and `jwks` reject if
 * it cannot.
 *
 * @throws TypeError on a malformed option.
 * @example
 * const issuer = createTokenIssuer({ issuer: 'https://acme.example', audience: 'https://api.acme.example',
 *   privateKey: JSON.parse(SIGNING_KEY), alg: 'ES256', kid: '2026-11' });
 * const { accessToken } = await issuer.exchange(principal, { scopes: ['threats:read'] });
 */
export function createTokenIssuer(options: TokenIssuerOptions): TokenIssuer {
  const given = readFields(options, ISSUER, 'createTokenIssuer') as unknown as TokenIssuerOptions;
  const { alg, ttlSeconds = DEFAULT_TTL, otherKeys = [], now = Date.now } = given;
  const [issuer, audience, kid] = [
    shortText(given, 'issuer'),
    shortText(given, 'audience'),
    shortText(given, 'kid'),
  ];
  assert(ALGORITHMS.includes(alg), `alg: pass one of ${ALGORITHMS.join(', ')}`);
  const signingKey = keyLoader(given.privateKey, alg);
  assert(typeof now === 'function', 'now: pass a function or leave it out');
  const longest = readInteger(ttlSeconds, 1, MAX_TTL, 'ttlSeconds');
  const others = publicKeys(otherKeys, 'otherKeys');
  const known = others.some((key) => key.kid === kid);
  assert(!known, 'otherKeys: one of them has the kid of the signing key');

  async function exchange(
    principal: Principal,
    input: ExchangeInput = {},
  ): Promise<ExchangedToken> {
    const iat = Math.floor(readClock(now) / 1000);
    const { scopes, accessibleEntities, ttl } = narrow(principal, input, longest);
    // Whole seconds, rounded down: the token ends no later than the key.
    const end =
      principal.expiresAt === null
        ? Number.POSITIVE_INFINITY
        : Math.floor(principal.expiresAt / 1000);
    const exp = Math.min(iat + ttl, end);
    if (exp <= iat) throw new AccessError('invalid_token', 'expired', { keyId: principal.keyId });
    const scope = scopes.join(' ');
    const { keyId, entityUuid } = principal;
    const claims = {
      client_id: keyId,
      scope,
      entity_uuid: entityUuid,
      accessible_entities: accessibleEntities,
    };
    const accessToken = await new SignJWT(claims)
      .setProtectedHeader({ alg, typ: TYPE, kid })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(keyId)
      .setIssuedAt(iat)
      .setExpirationTime(exp)
      .setJti(globalThis.crypto.randomUUID())
      .sign(await signingKey());
    // keyscope accepts a header of 16 KiB, and Node accepts as much for all headers together.
    if (accessToken.length > MAX_ISSUED)
      throw new ExchangeError(
        'invalid_target',
        'The token would be too long: ask for fewer entities.',
      );
    return { accessToken, tokenType: 'Bearer', expiresIn: exp - iat, scope };
  }

  async function jwks(): Promise<JSONWebKeySet> {
    const key = await signingKey();
    assert(key.extractable, UNPUBLISHED);
    return {
      keys: [
        { ...publicPart(await exportJWK(key)), alg, kid, use: 'sig' },
        ...structuredClone(others),
      ],
    };
  }

  return Object.freeze({ exchange, jwks });
}

/** What a token carries: all that the principal has, or part of it. */
function narrow(principal: Principal, input: unknown, longest: number) {
  // Throws unless it is a principal, before any of its fields is trusted.
  canAddress(principal, principal?.entityUuid);
  if (principal.via !== 'key')
    throw new ExchangeError('invalid_request', 'A token cannot be exchanged again; send the key.');
  const {
    scopes,
    accessibleEntities,
    ttlSeconds = longest,
  } = asRequest(() => readFields(input, EXCHANGE, 'exchange'));
  const granted = principal.scopes.filter((scope) => hasScopes(principal, scope));
  const asked = scopes === undefined ? granted : asRequest(() => readStrings(scopes, 'scopes'));
  if (!asked.every((scope) => granted.includes(scope)))
    throw new ExchangeError('invalid_scope', 'The key was not granted all of these scopes.');
  const own = principal.entityUuid;
  const entities =
    accessibleEntities === undefined
      ? principal.accessibleEntities
      : asRequest(() => readEntities(own, accessibleEntities, 'accessibleEntities', MAX_ENTITIES));
  if (!entities.every((entity) => canAddress(principal, entity)))
    throw new ExchangeError('invalid_target', 'The key cannot address all of these entities.');
  const ttl = asRequest(() => readInteger(ttlSeconds, 1, longest, 'ttlSeconds'));
  return {
    scopes: granted.filter((scope) => asked.includes(scope)),
    accessibleEntities: entities,
    ttl,
  };
}

/** Malformed request input is for the caller to fix; it is not a bug of the service. */
function asRequest<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof TypeError ? new ExchangeError('invalid_request', error.message) : error;
  }
}

// ── Verification ──────────────────────────────────────────────────────────────────────────────────────

type JwkSet = { readonly keys: readonly JWK[] };

/** How a service accepts tokens. */
export interface TokenVerifierOptions {
  /** The issuer, as it names itself (`iss`). */
  readonly issuer: string;
  /** This service, as the issuer names it (`aud`). */
  readonly audience: string;
  /**
   * The issuer's public keys, or the https URL (or http on this machine) where they are published,
   * which is fetched when an unknown `kid` appears and every ten minutes. A key removed from the
   * set is accepted until then or, once a fetch has failed, until one succeeds, and never after its
   * set is fifteen minutes old. Each key needs a `kid`, except the only key of a set that is passed
   * here and not fetched.
   *
   * Or a promise of a key set, such as `issuer.jwks()`; the set is checked when it arrives, and
   * kept. `verify` rejects with a `StoreError`, whose `cause` says why, while the set has not
   * arrived 5 s after the first token, and permanently if the promise rejects or the set is
   * malformed.
   */
  readonly jwks: JwkSet | URL | PromiseLike<JwkSet>;
  /** The accepted algorithms, whatever a token says. */
  readonly algorithms: readonly TokenAlgorithm[];
  readonly catalog: Catalog;
  /** The longest accepted lifetime, in seconds: 1 to 86,400. Default: 900. */
  readonly maxTtlSeconds?: number | undefined;
  /**
   * Milliseconds since the epoch; for tests. Default: `Date.now`. A fetched set ages by the
   * machine's clocks.
   */
  readonly now?: Clock | undefined;
}

// RFC 9068 §2.2, and keyscope's own.
const REQUIRED = 'iss aud exp iat jti sub client_id scope entity_uuid accessible_entities'.split(
  ' ',
);
const VERIFIER = [
  'issuer',
  'audience',
  'jwks',
  'algorithms',
  'catalog',
  'maxTtlSeconds',
  'now',
] as const;

/**
 * Makes a token verifier (RFC 9068 §4, RFC 8725). Pass it to a keyring as `tokens`, or use it alone
 * if there is no database: `verify` returns a principal with `via: 'jwt'`, an empty name and no
 * metadata.
 *
 * Not checked when used alone: whether the key behind a token is still live; a token is valid until
 * it expires. An ES256 signature has two forms, so distinguish tokens by `jti`, never by their
 * text.
 *
 * @throws TypeError on a malformed option, a private or symmetric key in `jwks`, or a URL that is
 *   not https. A promised key set is not checked yet.
 * @example
 * const tokens = createTokenVerifier({ issuer: 'https://acme.example', audience: 'https://api.acme.example',
 *   jwks: new URL('https://acme.example/.well-known/jwks.json'), algorithms: ['ES256'], catalog });
 * const principal = await tokens.verify(accessToken);
 */
export function createTokenVerifier(options: TokenVerifierOptions): TokenVerifier {
  const given = readFields(
    options,
    VERIFIER,
    'createTokenVerifier',
  ) as unknown as TokenVerifierOptions;
  const { catalog, maxTtlSeconds = DEFAULT_TTL, now = Date.now } = given;
  const [issuer, audience] = [shortText(given, 'issuer'), shortText(given, 'audience')];
  const algorithms = readStrings(given.algorithms, 'algorithms', {
    holds: (alg) => (ALGORITHMS as readonly string[]).includes(alg),
    instead: `pass one of ${ALGORITHMS.join(', ')}`,
  });
  assert(algorithms.length > 0, 'algorithms: name at least one');
  assert(typeof catalog?.expand === 'function', 'catalog: pass what defineScopes returned');
  assert(typeof now === 'function', 'now: pass a function or leave it out');
  const longest = readInteger(maxTtlSeconds, 1, MAX_TTL, 'maxTtlSeconds');
  const getKey = usable(
    given.jwks instanceof URL ? remoteKeys(given.jwks) : localKeys(given.jwks, algorithms),
  );
  const known: ReadonlySet<string> = new Set(catalog.all);

  async function verify(token: string): Promise<Principal> {
    const time = readClock(now);
    try {
      if (typeof token !== 'string' || !holdsAll(TEXT_CHECKS, token)) throw refused();
      const options = {
        issuer,
        audience,
        algorithms,
        typ: TYPE,
        currentDate: new Date(time),
        requiredClaims: REQUIRED,
      };
      const { payload } = await jwtVerify(token, getKey, options);
      const claims = readClaims(payload, { now: time / 1000, longest });
      // Checked again: keys may have been fetched in between.
      if (readClock(now) >= Number(claims.expiresAt)) throw refused();
      return createPrincipal(claims, 'jwt', known);
    } catch (error) {
      if (isStoreError(error)) throw error;
      // One code and one reason for every fault of a token: the answers are the same bytes.
      throw refused();
    }
  }

  return Object.freeze({ verify });
}

const refused = () => new AccessError('invalid_token', 'token_refused');

/** The claims that a principal is made of, trusted only once every check holds. */
interface CheckedClaims {
  readonly sub: string;
  readonly scope: string;
  readonly entity_uuid: string;
  readonly accessible_entities: readonly string[];
  readonly exp: number;
}

function readClaims(payload: JWTPayload, time: Omit<Bounds, 'scopes'>): Omit<Principal, 'via'> {
  const { sub, scope, entity_uuid, accessible_entities, exp } = payload as unknown as CheckedClaims;
  const scopes = Object.freeze(words(scope));
  if (!holdsAll(CLAIM_CHECKS, payload, { ...time, scopes })) throw refused();
  const accessibleEntities = Object.freeze([...accessible_entities]);
  const metadata = Object.freeze({});
  return {
    keyId: sub,
    name: '',
    entityUuid: entity_uuid,
    accessibleEntities,
    scopes,
    metadata,
    expiresAt: exp * 1000,
  };
}

// ── Keys ──────────────────────────────────────────────────────────────────────────────────────────────

function shortText<Name extends string>(
  options: { readonly [N in Name]?: unknown },
  name: Name,
): string {
  const value: unknown = options[name];
  assert(
    isName(value) || (name !== 'kid' && typeof value === 'string' && value !== ''),
    `${name}: pass a text`,
  );
  return value as string;
}

// The key that each algorithm needs: as a JWK (RFC 7518 §3.1, RFC 8037 §3.1), and as a `CryptoKey`.
const KINDS: Readonly<Record<TokenAlgorithm, readonly [name: string, kty: string, crv?: string]>> =
  {
    ES256: ['ECDSA', 'EC', 'P-256'],
    EdDSA: ['Ed25519', 'OKP', 'Ed25519'],
    RS256: ['RSASSA-PKCS1-v1_5', 'RSA'],
    PS256: ['RSA-PSS', 'RSA'],
  };

/** The modulus of a 2,048-bit RSA key has 342 characters. */
function fits({ kty, crv, n, alg, use }: JWK, algorithm: TokenAlgorithm): boolean {
  const [, kind, curve] = KINDS[algorithm];
  const signs = (alg ?? algorithm) === algorithm && (use ?? 'sig') === 'sig';
  return signs && kty === kind && crv === curve && (kind !== 'RSA' || String(n).length >= 342);
}

type KeyDetails = { readonly [N in 'name' | 'namedCurve' | 'modulusLength']?: unknown } & {
  readonly hash?: object;
};

function signsWith({ type, algorithm }: CryptoKey, alg: TokenAlgorithm): boolean {
  const [kind, kty, curve] = KINDS[alg];
  const { name, namedCurve, hash, modulusLength } = algorithm as KeyDetails;
  const sized = kty !== 'RSA' || (Object(hash).name === 'SHA-256' && Number(modulusLength) >= 2048);
  const curved = kty !== 'EC' || namedCurve === curve;
  return type === 'private' && name === kind && curved && sized;
}

const PEM = /^-----BEGIN PRIVATE KEY-----[A-Za-z0-9+/=\s]+-----END PRIVATE KEY-----$/;

/**
 * Checks a private key as far as possible at once, and returns a function that imports it on first
 * use and checks the rest. Both throw the same `TypeError`: errors from jose or the runtime may
 * quote the key.
 */
function keyLoader(given: unknown, alg: TokenAlgorithm): () => Promise<CryptoKey> {
  const instead =
    `privateKey: pass a private key for ${alg} (${KINDS[alg].slice(1).join(', ')}; RSA from 2,048 bits): a JWK object, a ` +
    'CryptoKey, a KeyObject, or PKCS#8 PEM text (BEGIN PRIVATE KEY) with its line breaks';
  const tag: unknown = Object(given)[Symbol.toStringTag];
  if (tag === 'CryptoKey') {
    assert(signsWith(given as CryptoKey, alg), instead);
    return async () => given as CryptoKey;
  }
  const pem = typeof given === 'string' ? given.trim() : undefined;
  const jwk: JWK = tag === 'KeyObject' ? exported(given as NodeKey) : Object(given);
  assert(pem === undefined ? typeof jwk.d === 'string' && fits(jwk, alg) : PEM.test(pem), instead);
  const written = pem ?? structuredClone(jwk);
  const how = { extractable: true };
  const load = () =>
    typeof written === 'string' ? importPKCS8(written, alg, how) : importJWK(written, alg, how);
  let key: CryptoKey | undefined;
  return async () => {
    key ??= (await load().catch(() => undefined)) as CryptoKey | undefined;
    assert(key !== undefined && signsWith(key, alg), instead);
    return key;
  };
}

/** A `KeyObject` as a JWK; an empty one, which is refused, if that kind of key has no JWK. */
type NodeKey = { export(options: { readonly format: 'jwk' }): JWK };
function exported(key: NodeKey): JWK {
  try {
    return key.export({ format: 'jwk' });
  } catch {
    return {};
  }
}

function localKeys(set: unknown, algorithms: readonly string[]): JWTVerifyGetKey {
  if (typeof Object(set).then === 'function')
    return promisedKeys(set as PromiseLike<unknown>, algorithms);
  assert(
    typeof set !== 'string',
    'jwks: this is a text; pass new URL(text), or { keys: [public JWKs] }',
  );
  const keys = publicKeys(Object(set).keys, 'jwks');
  const usable = keys.some((key) => algorithms.some((alg) => fits(key, alg as TokenAlgorithm)));
  assert(usable, `jwks: none of the keys is for ${algorithms.join(', ')}`);
  const find = createLocalJWKSet({ keys: [...keys] });
  // jose never matches a token's `kid` with a key that has none. If there is only one key, no other
  // can be meant, and the signature decides.
  return keys[0]?.kid === undefined ? ({ alg }, token) => find({ alg }, token) : find;
}

/**
 * Keys that are still pending. If they prove malformed, requests are being served, and no start-up
 * is left to fail.
 */
function promisedKeys(set: PromiseLike<unknown>, algorithms: readonly string[]): JWTVerifyGetKey {
  let [find, waiting]: [JWTVerifyGetKey?, Promise<JWTVerifyGetKey>?] = [];
  const coming = Promise.resolve(set).then((keys) => {
    find = localKeys(keys, algorithms);
    return find;
  });
  // Each `verify` reports the rejection; before the first one, nobody handles it.
  coming.catch(() => {});
  return async (header, token) => {
    // Waited for once, from the first token on. A set that arrives later is used all the same.
    waiting ??= inTime(coming).catch((error) => raise(keysBroken(error)));
    return (find ?? (await waiting))(header, token);
  };
}

const inTime = <T>(coming: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    coming.then(resolve, reject);
    const late = () => reject(new Error('the promised key set did not come in time'));
    AbortSignal.timeout(PATIENCE).addEventListener('abort', late);
  });

const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];

function publicPart(key: JWK): JWK {
  const { kty, crv, x, y, n, e } = key;
  const parts = Object.entries({ kty, crv, x, y, n, e }).filter(([, part]) => part !== undefined);
  return Object.fromEntries(parts) as JWK;
}

/**
 * A copy of public keys, each with a distinct `kid`. A private key among them would be published,
 * or already is.
 */
function publicKeys(keys: unknown, what: 'jwks' | 'otherKeys'): readonly JWK[] {
  const shape = {
    jwks: 'pass { keys: [public JWKs] } or a URL',
    otherKeys: 'pass a list of public JWKs',
  };
  assert(Array.isArray(keys), `${what}: ${shape[what]}`);
  for (const key of keys) {
    const parts = Object.keys(Object(key));
    assert(
      !parts.some((part) => PRIVATE.includes(part)),
      `${what}: pass public keys; one of them is private or symmetric`,
    );
    const { kid } = Object(key);
    const alone = what === 'jwks' && keys.length === 1 && kid === undefined;
    assert(
      alone || isName(kid),
      `${what}: each key wants its kid, 1 to 128 characters, as tokens name it`,
    );
  }
  assert(
    new Set(keys.map(({ kid }) => kid)).size === keys.length,
    `${what}: two keys have one kid`,
  );
  return structuredClone(keys);
}

/**
 * In milliseconds: how long a set that cannot be fetched again is used, the pause after a failed
 * fetch, and how long a promised set is awaited (as long as jose waits for a response).
 */
const [MAX_STALE, PAUSE, PATIENCE] = [900_000, 5_000, 5_000];

function remoteKeys(url: URL): JWTVerifyGetKey {
  const { protocol, hostname, username, password } = url;
  const local = protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  assert(protocol === 'https:' || local, 'jwks: pass an https URL; http is for this machine alone');
  assert(username === '' && password === '', 'jwks: pass a URL without credentials');
  return fetchedKeys(url);
}

/**
 * jose fetches the set when it is first needed, when it is older than ten minutes, and for a `kid`
 * that is not in it, at most every 30 s. A failed fetch says nothing about a token: it is a
 * `StoreError`, with no new attempt for 5 s. Meanwhile, keys of the previous set are accepted until
 * that set is fifteen minutes old by both clocks: `Date.now` may be set back, and `performance.now`
 * need not advance while the machine sleeps.
 */
function fetchedKeys(url: URL): JWTVerifyGetKey {
  type Had = {
    readonly find: ReturnType<typeof createLocalJWKSet>;
    readonly date: number;
    readonly at: number;
  };
  let had: Had | undefined;
  let failed = Number.NEGATIVE_INFINITY;
  const fetchRarely: FetchImplementation = async (address, options) => {
    if (performance.now() - failed < PAUSE) throw keysBroken();
    try {
      const set = await fetchBounded(address, options);
      const find = createLocalJWKSet(set); // Throws unless it is a key set.
      // A valid set without any key for tokens is an answer too: the previous set's keys were
      // removed.
      had = set.keys.some(({ kid }) => isName(kid))
        ? { find, date: Date.now(), at: performance.now() }
        : undefined;
      if (had === undefined) throw new Error('no key of the set has a kid, and tokens name theirs');
      return Response.json(set);
    } catch (error) {
      failed = performance.now();
      throw keysBroken(error);
    }
  };
  const isYoung = ({ date, at }: Had) =>
    Math.max(Date.now() - date, performance.now() - at) < MAX_STALE;
  const begin = () => createRemoteJWKSet(url, { [customFetch]: fetchRarely });
  let [remote, latest] = [begin(), 0];
  return async (header, token) => {
    // The clock was set back. For jose, a set fetched in what is now the future would not age until
    // then.
    if (Date.now() < latest) [remote, latest] = [begin(), 0];
    const current = remote(header, token).finally(() => {
      latest = Math.max(latest, Date.now());
    });
    // Not awaited if the last fetch failed: the next one may take 5 s, too, and goes on beside
    // tokens of known keys.
    if (had === undefined || failed < had.at) {
      try {
        return await current;
      } catch (error) {
        if (!isStoreError(error)) throw error;
      }
    }
    current.catch(() => {});
    // A key that is not in the previous set may be in the new one, so the token is not at fault.
    const known = had !== undefined && isYoung(had) ? had.find(header, token) : current;
    return known.catch(() => current);
  };
}

/**
 * A missing key is the token's fault; one that cannot be fetched or used is not. The header is
 * checked here, before the key look-up, because jose has decoded it: decoding it again took 1.3 µs,
 * 3 % of an RS256 token.
 */
const usable =
  (find: JWTVerifyGetKey): JWTVerifyGetKey =>
  async (header, token) => {
    if (!holdsAll(HEADER_CHECKS, header)) throw refused();
    try {
      return await find(header, token);
    } catch (error) {
      const { code } = error as { readonly code?: unknown };
      throw isStoreError(error) || code === 'ERR_JWKS_NO_MATCHING_KEY' ? error : keysBroken(error);
    }
  };

const keysBroken = (cause?: unknown) =>
  new StoreError('the token keys cannot be had or cannot be used', cause);

/** Reads at most 64 KiB, about a hundred keys. */
async function fetchBounded(url: string, options: RequestInit): Promise<JSONWebKeySet> {
  const response = await fetch(url, options);
  if (response.status !== 200) throw new Error(`the key set was answered with ${response.status}`);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  // A 200 response to GET has a body, even if it is empty.
  for await (const chunk of response.body as ReadableStream<Uint8Array<ArrayBuffer>>) {
    length += chunk.length;
    if (length > MAX_JWKS) throw new Error(`the key set is longer than ${MAX_JWKS} bytes`);
    chunks.push(chunk);
  }
  return JSON.parse(await new Blob(chunks).text());
}
