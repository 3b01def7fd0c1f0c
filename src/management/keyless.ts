/** Makes keys whose text nobody holds: an identity of another issuer may act as them. */
import { encoder } from '../core/bytes.js';
import type { Context } from '../core/context.js';
import { sortedPairs } from '../core/encoding.js';
import { assert, isObject, readFields, readInput, readInputFields } from '../core/input.js';
import { hasInvisible, looksLikeKey } from '../core/masking.js';
import { frozenCopy } from '../core/record.js';
import type { TokenVerifier } from '../core/tokens.js';
import { readTrust, type Trust } from '../core/trust.js';
import type { CheckedGrant } from './authority.js';
import type { KeyInfo } from './info.js';
import { ISSUE_FIELDS, type IssueInput, issueTrusting } from './issue.js';

/** The input of `issueKeyless`. */
export interface IssueKeylessInput<Pattern extends string = string> extends IssueInput<Pattern> {
  /**
   * Who may act as the key: the issuer of their tokens, as one of the keyring's verifiers lists it,
   * and 1 to 8 claims with which it identifies them. A value has 1 to 512 characters; a list has at
   * most 8.
   */
  readonly trust: Trust;
}

/** A new key whose text nobody holds. */
export interface KeylessKey {
  /** The key. Its `keyId` is the end of the audience that tokens need. */
  readonly info: KeyInfo;
}

export async function issueKeyless(
  context: Context,
  authority: CheckedGrant,
  input: IssueKeylessInput,
): Promise<KeylessKey> {
  const { verifiers, schemes } = context;
  const isPossible = verifiers !== null && schemes[0].seal !== null;
  assert(isPossible, 'issueKeyless: pass createKeyring `tokens` and a pepper');
  const given = readInputFields(input, [...ISSUE_FIELDS, 'trust'], 'issueKeyless');
  const trust = readInput(given, 'trust', (value) => readIdentity(verifiers.all, value));
  const { issued } = await issueTrusting(context, authority, given, trust);
  return Object.freeze({ info: issued.info });
}

/** Reads a trust that identifies its holders, and returns its canonical text (RFC 8785). */
function readIdentity(verifiers: readonly TokenVerifier[], value: unknown): string {
  const { issuer, claims } = readFields(value, ['issuer', 'claims'], 'trust');
  assert(isIssuer(issuer), `trust.issuer: ${ISSUER_INSTEAD}`);
  const pairs = isObject(claims) ? sortedPairs(claims) : [];
  // Checks copies: an array may answer differently the second time.
  const members = pairs.map(([name, wanted]) => memberOf(name, frozenCopy(wanted)));
  const text = `{"claims":{${members.join()}},"issuer":${JSON.stringify(issuer)}}`;
  const isSound =
    isCount(members) && !members.includes(null) && encoder.encode(text).length <= 4096;
  assert(isSound, CLAIMS_INSTEAD);
  const trust = readTrust(text) as Trust;
  const isIdentity = verifiers.some((verifier) => verifier.identifies?.(trust) === true);
  assert(isIdentity, 'trust: name an issuer of `tokens`, and a claim that it gives to nobody else');
  return text;
}

/** 255 characters of printable ASCII, without user information, query and fragment. */
export const ISSUER: RegExp = /^(?=.{1,255}$)https:\/\/[\w.:[\]-]+(?:\/[!"$->@-~]*)?$/;

/** Checks whether a text names an issuer of tokens, as a trust and a verifier may. */
export function isIssuer(value: unknown): value is string {
  return typeof value === 'string' && ISSUER.test(value);
}

/** The sentence for a text that does not. */
export const ISSUER_INSTEAD: string =
  'pass an https URL of at most 255 characters, without user information, query and fragment';

const CLAIMS_INSTEAD =
  'trust.claims: name 1 to 8 claims of an identity (not iss, aud, exp, iat, nbf, jti), each with ' +
  'a text of at most 512 visible characters or a list of 1 to 8 different ones';

/**
 * Claims about a token, which identify nobody; names that JSON escapes, which V8 13.6 (Node 24)
 * confuses when it parses them; and JSON Pointers with a `~` that escapes nothing (RFC 6901 §3).
 */
const NO_CLAIM = /^\/?(?:iss|aud|exp|iat|nbf|jti)$|["\\]|^\/.*~(?![01])/;

/** Writes a claim and its value; null unless both are right. */
export function memberOf(name: string, wanted: unknown): string | null {
  const list: readonly unknown[] = Array.isArray(wanted) ? wanted : [wanted];
  const isClaim = isShown(name, 128) && !NO_CLAIM.test(name);
  const isValue = isCount(list) && list.every((each) => isShown(each, 512));
  return isClaim && isValue ? `${JSON.stringify(name)}:${JSON.stringify(wanted)}` : null;
}

function isCount(list: readonly unknown[]): boolean {
  return list.length > 0 && list.length <= 8 && new Set(list).size === list.length;
}

/** Checks a text that records, lists and events show. */
function isShown(text: unknown, max: number): boolean {
  const isText = typeof text === 'string' && text.length > 0 && text.length <= max;
  return isText && !hasInvisible(text) && !looksLikeKey(text);
}
