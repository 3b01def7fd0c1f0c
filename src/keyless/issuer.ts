/** The issuers whose tokens a service accepts, and how they are checked at start-up. */
import { assert, readFields, readStrings } from '../core/input.js';
import type { TokenAlgorithm } from '../jwt/algorithms.js';
import { isName } from '../jwt/claims.js';
import type { JwkSet } from '../jwt/key-set.js';
import { readAlgorithms, readTtl } from '../jwt/token-options.js';
import { ISSUER_INSTEAD, isIssuer } from '../management/keyless.js';
import { createIssuerKeys, type IssuerKeys } from './issuer-keys.js';

/** An issuer of tokens. */
export interface KeylessIssuer {
  /**
   * Its name for itself (`iss`): an https URL of at most 255 characters, without user information,
   * query and fragment, compared as written.
   */
  readonly issuer: string;
  /** Its public keys, or the https URL (http on this machine) that publishes them. */
  readonly jwks: JwkSet | URL;
  /** The accepted algorithms. A token cannot choose another one. */
  readonly algorithms: readonly TokenAlgorithm[];
  /**
   * The claims that the issuer gives to nobody else. A trust has to name one of them. A name that
   * begins with `/` is a JSON Pointer.
   */
  readonly identifies: readonly string[];
  /** The longest accepted life of a token, in seconds: 1 to 86,400. Default: 900. */
  readonly maxTtlSeconds?: number | undefined;
}

/** A {@link KeylessIssuer}, checked and copied. */
export interface CheckedIssuer {
  readonly issuer: string;
  readonly algorithms: readonly TokenAlgorithm[];
  readonly identifies: readonly string[];
  readonly maxTtlSeconds: number;
  readonly keys: IssuerKeys;
}

const FIELDS = ['issuer', 'jwks', 'algorithms', 'identifies', 'maxTtlSeconds'] as const;

const CLAIM = { holds: isName, instead: 'pass the name of a claim, 1 to 128 characters' };

/**
 * Reads the option `issuers`.
 *
 * @param report Called once with each failed fetch of keys. Never throws.
 * @throws TypeError that says what to pass instead.
 */
export function readIssuers(
  given: unknown,
  report: (error: unknown) => void,
): ReadonlyMap<string, CheckedIssuer> {
  const isList = Array.isArray(given) && given.length > 0;
  assert(isList, 'issuers: pass a list of issuers, such as [githubActions()]');
  const issuers = new Map<string, CheckedIssuer>();
  for (const entry of Array.from<unknown>(given)) {
    const checked = readIssuer(entry, report);
    assert(!issuers.has(checked.issuer), 'issuers: two have one issuer', checked.issuer);
    issuers.set(checked.issuer, checked);
  }
  return issuers;
}

function readIssuer(entry: unknown, report: (error: unknown) => void): CheckedIssuer {
  const given = readFields(entry, FIELDS, 'issuers');
  const { issuer } = given;
  assert(isIssuer(issuer), `issuer: ${ISSUER_INSTEAD}`, issuer);
  const algorithms = readAlgorithms(given.algorithms);
  const identifies = readStrings(given.identifies, 'identifies', CLAIM);
  assert(identifies.length > 0, 'identifies: name a claim that nobody else can get');
  const maxTtlSeconds = readTtl(given.maxTtlSeconds, 'maxTtlSeconds');
  const keys = createIssuerKeys(given.jwks, algorithms, report);
  return { issuer, algorithms, identifies, maxTtlSeconds, keys };
}
