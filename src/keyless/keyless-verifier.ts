/**
 * Verifies the tokens of identities that may act as a key. All steps are on this page, in their
 * order: a stranger's token costs one look-up at most, and no signature check.
 */
import { AccessError, StoreError } from '../core/errors.js';
import { createReport } from '../core/events.js';
import { assert, assertFunction, readFields, readInteger, readStrings } from '../core/input.js';
import { type Clock, readClock } from '../core/outage.js';
import type { Principal } from '../core/principal.js';
import { createSlots, type Slots } from '../core/slots.js';
import { within } from '../core/thenable.js';
import { earliest } from '../core/times.js';
import type { LiveKey, TokenTools, TokenVerifier } from '../core/tokens.js';
import type { Trust } from '../core/trust.js';
import { isUuid } from '../core/uuid.js';
import type { TokenAlgorithm } from '../jwt/algorithms.js';
import { holdsAll, isName, keysUnavailable, TEXT_CHECKS, tokenRefused } from '../jwt/claims.js';
import { type CryptoKey, compactVerify, decodeJwt, decodeProtectedHeader } from '../jwt/jose.js';
import { readClockOption } from '../jwt/token-options.js';
import { hasTrustedClaims } from './claims.js';
import { type CheckedIssuer, type KeylessIssuer, readIssuers } from './issuer.js';

/** The options of {@link createKeylessVerifier}. */
export interface KeylessVerifierOptions {
  /**
   * The name of this service in tokens, without `#`, or a list of names. The `aud` of a token is
   * one of them, `#` and the id of the key that the token acts as.
   */
  readonly audience: string | readonly string[];
  /** The issuers whose tokens are accepted, such as `githubActions()`. */
  readonly issuers: readonly KeylessIssuer[];
  /** How many signatures are checked at once: 1 to 1,000. Default: 16. */
  readonly maxVerifications?: number | undefined;
  /** Milliseconds since the epoch; for tests. Default: `Date.now`. */
  readonly now?: Clock | undefined;
  /** Called once with each failed fetch of an issuer's keys. Its own errors are ignored. */
  readonly onError?: ((error: unknown) => unknown) | undefined;
}

/** A verifier for the option `tokens` of a keyring. */
export interface KeylessVerifier extends TokenVerifier {
  verify(token: string, tools: TokenTools): Promise<Principal>;
  /** Checks whether the token has the right shape and names one of the issuers. */
  recognizes(token: string): boolean;
  /** The names of the issuers. */
  readonly issuers: readonly string[];
  /** Checks whether a trust has a claim that nobody else can get; null for an issuer of others. */
  identifies(trust: Trust): boolean | null;
}

interface Settings {
  readonly audiences: ReadonlySet<string>;
  readonly issuers: ReadonlyMap<string, CheckedIssuer>;
  readonly slots: Slots;
  readonly now: Clock;
}

const OPTIONS = ['audience', 'issuers', 'maxVerifications', 'now', 'onError'] as const;

const AUDIENCE = {
  holds: (name: string): boolean => name !== '' && !name.includes('#'),
  instead: 'pass a text without #; the id of a key follows in tokens',
};

/**
 * Makes a verifier of tokens that workloads get from their platform (RFC 7519, RFC 8725). Pass it
 * to a keyring as `tokens`; `issueKeyless` makes the keys.
 *
 * Not checked: whether a token was shown before. Anyone who sees it can use it during its life.
 *
 * @throws TypeError on a malformed option, or two issuers of one name. `verify` rejects with
 *   `AccessError` `invalid_token`, or with `StoreError` if an issuer's keys cannot be had.
 * @example
 * const audience = 'https://api.acme.example';
 * const tokens = createKeylessVerifier({ audience, issuers: [githubActions()] });
 * const keyring = createKeyring({ prefix: 'acme', policy, store, peppers, tokens });
 */
export function createKeylessVerifier(options: KeylessVerifierOptions): KeylessVerifier {
  const given = readFields(options, OPTIONS, 'createKeylessVerifier');
  const { audience, maxVerifications = 16, now, onError } = given;
  assertFunction(onError, 'onError');
  const report = createReport(onError as KeylessVerifierOptions['onError']);
  const names = typeof audience === 'string' ? [audience] : audience;
  const audiences = readStrings(names, 'audience', AUDIENCE);
  assert(audiences.length > 0, 'audience: pass at least one');
  const most = readInteger(maxVerifications, 1, 1_000, 'maxVerifications');
  const issuers = readIssuers(given.issuers, report);
  const settings: Settings = {
    audiences: new Set(audiences),
    issuers,
    slots: createSlots(most),
    now: readClockOption(now),
  };
  return Object.freeze({
    verify: (token: string, tools: TokenTools) => verify(settings, token, tools),
    recognizes: (token: string) => issuerOf(decode(token), issuers) !== undefined,
    issuers: Object.freeze([...issuers.keys()]),
    identifies: ({ issuer, claims }: Trust) => {
      const entry = issuers.get(issuer);
      return entry === undefined ? null : isIdentity(entry, claims);
    },
  });
}

/** Checks whether claims include one that the issuer gives to nobody else. */
function isIdentity({ identifies }: CheckedIssuer, claims: Trust['claims']): boolean {
  return identifies.some((name) => Object.hasOwn(claims, name));
}

async function verify(
  { audiences, issuers, slots, now }: Settings,
  token: string,
  { findLive }: TokenTools,
): Promise<Principal> {
  // 1. Size and shape. Of the header, only `alg` and `kid` are read.
  const decoded = decode(token);
  if (decoded === null) throw tokenRefused();
  const { header, payload } = decoded;
  if ('crit' in header || 'b64' in header) throw tokenRefused();
  // 2. The id of the key, in the audience.
  const keyId = keyIdIn(payload.aud, audiences);
  // 3. The issuer, from the service's own list. Nothing is fetched from an address in a token.
  const issuer = issuerOf(decoded, issuers);
  if (keyId === undefined || issuer === undefined) throw tokenRefused();
  // 4. The key. Its refusal says why in the log.
  const key = await findLive(keyId);
  // 5. The identity, by the sealed trust.
  if (!isTrusted(key, issuer, payload)) {
    throw new AccessError('invalid_token', 'identity_not_trusted', { keyId });
  }
  // 6. The algorithm, before any key is looked for.
  const alg = issuer.algorithms.find((each) => each === header.alg);
  const { kid } = header;
  if (alg === undefined || !(kid === undefined || isName(kid))) throw tokenRefused();
  // 7. The public key.
  const publicKey = await issuer.keys.find({ alg, kid });
  if (publicKey === null) throw tokenRefused();
  // 8. A place for the signature check, and the signature.
  await checkSignature(slots, token, publicKey, alg);
  // 9. The times.
  const endsAt = readTimes(payload, readClock(now) / 1000, issuer.maxTtlSeconds, key.changedAt);
  if (endsAt === null) throw tokenRefused();
  // 10. The principal, as the record says.
  const { trust: _trust, changedAt: _changedAt, ...fields } = key;
  return { ...fields, expiresAt: earliest(key.expiresAt, endsAt), via: 'keyless' };
}

/** The decoded parts of a token, of which nothing is checked. */
interface Decoded {
  readonly header: { readonly alg?: unknown; readonly kid?: unknown };
  readonly payload: { readonly [F in 'iss' | 'aud' | 'exp' | 'iat' | 'nbf']?: unknown };
}

function decode(token: unknown): Decoded | null {
  if (typeof token !== 'string' || !holdsAll(TEXT_CHECKS, token)) return null;
  try {
    return { header: decodeProtectedHeader(token), payload: decodeJwt(token) };
  } catch {
    return null;
  }
}

function issuerOf(
  decoded: Decoded | null,
  issuers: ReadonlyMap<unknown, CheckedIssuer>,
): CheckedIssuer | undefined {
  return issuers.get(decoded?.payload.iss);
}

/** Reads an audience of one, `<audience>#<key id>`. */
function keyIdIn(aud: unknown, audiences: ReadonlySet<string>): string | undefined {
  const list: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  const [only] = list;
  if (typeof only !== 'string' || list.length > 1) return undefined;
  const [audience = '', keyId, ...more] = only.split('#');
  const isOurs = audiences.has(audience) && more.length === 0;
  return isOurs && isUuid(keyId) ? keyId : undefined;
}

function isTrusted({ trust }: LiveKey, issuer: CheckedIssuer, payload: object): boolean {
  if (trust === null || trust.issuer !== issuer.issuer) return false;
  return isIdentity(issuer, trust.claims) && hasTrustedClaims(trust, payload);
}

/** How long a token waits for its place, in milliseconds. Less than `storeTimeoutMs` by default. */
const WAIT_MS = 1_000;

async function checkSignature(
  slots: Slots,
  token: string,
  publicKey: CryptoKey,
  alg: TokenAlgorithm,
): Promise<void> {
  let isLate = false;
  const checking = slots.take(async () => {
    // Nobody waits for it any more.
    if (isLate) return false;
    return isSigned(token, publicKey, alg);
  });
  const giveUp = (): never => {
    isLate = true;
    throw new StoreError('keyless: too many signatures wait to be checked');
  };
  const isWaiting = slots.waiting() > 0;
  const isGenuine = isWaiting ? await within(WAIT_MS, checking, giveUp) : await checking;
  if (!isGenuine) throw tokenRefused();
}

async function isSigned(token: string, key: CryptoKey, alg: TokenAlgorithm): Promise<boolean> {
  try {
    await compactVerify(token, key, { algorithms: [alg] });
    return true;
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (String(code).startsWith('ERR_JWS_')) return false;
    // The runtime lacks the algorithm, for example.
    throw keysUnavailable(error);
  }
}

/** How far an issuer's clock may be ahead of ours. */
const LEEWAY_SECONDS = 5;

/** Returns when the token ends, in milliseconds; null unless all of its times are right. */
function readTimes(
  { exp, iat, nbf = iat }: Decoded['payload'],
  now: number,
  maxTtlSeconds: number,
  changedAt: number | null,
): number | null {
  const times = [exp, iat, nbf].map(Number);
  const [end = 0, issued = 0, from = 0] = times;
  if (![exp, iat, nbf].every(Number.isSafeInteger)) return null;
  const isNow = now < end && Math.max(issued, from) <= now + LEEWAY_SECONDS;
  const isShort = end - issued <= maxTtlSeconds;
  // Suspending and resuming a key ends every token that was out.
  const isNew = changedAt === null || issued * 1000 >= changedAt;
  return isNow && isShort && isNew ? end * 1000 : null;
}
