/**
 * Parses the `Authorization` values of a request into one credential, or the reason why the request
 * has no usable one.
 *
 *   credentials = auth-scheme [ 1*SP ( token68 / auth-param *( OWS "," OWS auth-param ) ) ]
 *   auth-scheme = token
 *   token68     = 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"="
 *   auth-param  = token BWS "=" BWS ( token / quoted-string )        ; RFC 9110 §11.4
 *
 * Every deviation is stricter than the RFC: no empty list elements, no obs-text, no white space
 * around the value (HTTP parsers have removed it), at most 16 KiB. Two credentials that a gateway
 * or fetch's `Headers` joined with a comma match nothing here, so they are malformed, whichever
 * scheme comes first.
 */

/** A request that carries no bearer credential. */
interface NoCredential {
  /** With `other-scheme`, the scheme is left out, because people send the raw key in its place. */
  readonly kind: 'missing' | 'other-scheme' | 'malformed';
}

/** A well-formed bearer credential (RFC 6750 §2.1). */
interface BearerCredential {
  readonly kind: 'bearer';
  /** Not checked: whether it is a key, a token, or neither. */
  readonly token: string;
}

/** A parsed `Authorization` value. */
export type Authorization = NoCredential | BearerCredential;

const MISSING: Authorization = Object.freeze({ kind: 'missing' });
const MALFORMED: Authorization = Object.freeze({ kind: 'malformed' });
/** Malformed too, and distinguished only by identity: its sender gets a different sentence. */
export const QUOTED: Authorization = Object.freeze({ kind: 'malformed' });
const OTHER_SCHEME: Authorization = Object.freeze({ kind: 'other-scheme' });

const MAX_LENGTH = 16_384;

// No two neighbours in these patterns can match the same character, so they run in linear time.
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const TOKEN68 = '[0-9A-Za-z._~+/-]+=*';
const PARAM = `${TOKEN}[ \\t]*=[ \\t]*(?:${TOKEN}|"(?:[\\t !#-[\\]-~]|\\\\[\\t -~])*")`;
const PARAMS = `${PARAM}(?:[ \\t]*,[ \\t]*${PARAM})*`;
const BEARER = new RegExp(`^Bearer +${TOKEN68}$`, 'i');
const QUOTES = /^(?:Bearer [^,]*)?["'`]/i;
const NOTHING = /^/;
const OTHER = new RegExp(`^(?!Bearer(?: |$))${TOKEN}(?: +(?:${TOKEN68}|${PARAMS}))?$`, 'i');

/**
 * Reads one `Authorization` value, or the list of values that a request carried.
 *
 * Accepts any value that a framework passes, and never throws. Not checked: whether the token is a
 * key, a JWT or neither.
 *
 * @param value The field value. A list counts as one header line per element; `undefined` and
 *   `null` mean that the request has no such header.
 * @returns `kind`, and `token` for a well-formed `Bearer` credential (RFC 6750 §2.1, auth-scheme in
 *   any case). `malformed` covers anything that is not a text, two values, a bare `Bearer`, and
 *   more than 16 KiB.
 * @example
 * parseAuthorization('Bearer abc.def'); // { kind: 'bearer', token: 'abc.def' }
 */
export function parseAuthorization(value: unknown): Authorization {
  if (value === undefined || value === null) return MISSING;
  if (!Array.isArray(value)) return parseLine(value);
  if (value.length === 0) return MISSING;
  if (value.length > 1) return MALFORMED;
  return parseLine(value[0]);
}

const LITERAL = 'Bearer ';

/**
 * Returns the text after a literal `Bearer ` in the only line, or null. A fast path for keys. Not
 * checked: the grammar of that text.
 */
export function bearerText(value: unknown): string | null {
  const line: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
  const isLiteral = typeof line === 'string' && line.startsWith(LITERAL);
  return isLiteral ? line.slice(LITERAL.length) : null;
}

function parseLine(line: unknown): Authorization {
  if (typeof line !== 'string' || line.length > MAX_LENGTH) return MALFORMED;
  const isBearer = BEARER.test(line);
  const isOther = !isBearer && OTHER.test(line);
  const malformed = QUOTES.test(line) ? QUOTED : MALFORMED;
  // `RegExp.input` and similar statics expose the text of the last match to all code in this
  // process: overwrite it.
  NOTHING.test('');
  if (isBearer) return { kind: 'bearer', token: line.slice(line.lastIndexOf(' ') + 1) };
  return isOther ? OTHER_SCHEME : malformed;
}
