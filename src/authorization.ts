/**
 * From a request to one credential, or to the reason why there is none. The only place that reads a header.
 *
 *   credentials = auth-scheme [ 1*SP ( token68 / auth-param *( OWS "," OWS auth-param ) ) ]   ; RFC 9110 §11.4
 *   auth-scheme = token
 *   token68     = 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"="
 *   auth-param  = token BWS "=" BWS ( token / quoted-string )
 *
 * Deviations, all towards refusing: no empty list elements, no obs-text, no white space around the value
 * (HTTP parsers have removed it), at most 16 KiB. Two header lines that a gateway joined with a comma match
 * nothing here, so they are malformed whichever scheme comes first.
 */
import { expect, quote } from './input.js';

const MAX_HEADER = 16_384;

/** What an `Authorization` value is. `other-scheme` never says which: people send the raw key there. */
export type Authorization =
  | { readonly kind: 'missing' | 'other-scheme' | 'malformed' }
  | { readonly kind: 'bearer'; readonly token: string };

const MISSING: Authorization = Object.freeze({ kind: 'missing' });
const OTHER: Authorization = Object.freeze({ kind: 'other-scheme' });
const MALFORMED: Authorization = Object.freeze({ kind: 'malformed' });

// By ASCII code: bit 1 for a character of token (RFC 9110 §5.6.2), bit 2 for one of token68 before its padding.
const TOKEN = 1;
const TOKEN68 = 2;
const CLASSES = new Uint8Array(128);
const mark = (characters: string, bit: number) => {
  for (const c of characters) CLASSES[c.charCodeAt(0)] = (CLASSES[c.charCodeAt(0)] as number) | bit;
};
const ALNUM = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
mark(`${ALNUM}!#$%&'*+-.^_\`|~`, TOKEN);
mark(`${ALNUM}-._~+/`, TOKEN68);

/** Where the run of characters of one class that starts at `from` ends. */
function run(text: string, from: number, bit: number): number {
  let i = from;
  while (i < text.length && ((CLASSES[text.charCodeAt(i)] ?? 0) & bit) !== 0) i++;
  return i;
}

function skip(text: string, from: number, characters: string): number {
  let i = from;
  while (i < text.length && characters.includes(text.charAt(i))) i++;
  return i;
}

/** Whether the text from `from` is one token68 up to its end. */
function isToken68(text: string, from: number): boolean {
  const end = run(text, from, TOKEN68);
  return end > from && skip(text, end, '=') === text.length;
}

/** Whether the text from `from` is a list of auth-params up to its end. */
function isParams(text: string, from: number): boolean {
  let at = from;
  for (;;) {
    const name = run(text, at, TOKEN);
    const equals = skip(text, name, ' \t');
    if (name === at || text.charAt(equals) !== '=') return false;
    const value = skip(text, equals + 1, ' \t');
    const end = text.charAt(value) === '"' ? quotedEnd(text, value) : run(text, value, TOKEN);
    if (end <= value) return false;
    if (end === text.length) return true;
    at = skip(text, end, ' \t');
    if (text.charAt(at) !== ',') return false;
    at = skip(text, at + 1, ' \t');
  }
}

/** Where the quoted-string that starts at `from` ends, or -1. Printable ASCII, space and tab only. */
function quotedEnd(text: string, from: number): number {
  for (let i = from + 1; i < text.length; i++) {
    const c = text.charAt(i);
    if (c === '"') return i + 1;
    if (c === '\\') i++;
    if (!/[\t -~]/.test(text.charAt(i))) return -1;
  }
  return -1;
}

/**
 * Reads one `Authorization` value, or the list of values that a request carried.
 *
 * Takes whatever a framework hands over and never throws. Not checked: what the token is.
 *
 * @param value The field value; a list counts as one header line an element; `undefined` or `null` as none.
 * @returns `kind`, and `token` for a well-formed `Bearer` credential (RFC 6750 §2.1, auth-scheme in any case).
 *   Anything that is no text is `malformed`, as are two values, a bare `Bearer` and more than 16 KiB.
 * @example
 * parseAuthorization('Bearer acme_4fzV…'); // { kind: 'bearer', token: 'acme_4fzV…' }
 */
export function parseAuthorization(value: unknown): Authorization {
  if (Array.isArray(value)) {
    if (value.length === 0) return MISSING;
    return value.length === 1 && typeof value[0] === 'string' ? parseAuthorization(value[0]) : MALFORMED;
  }
  if (value === undefined || value === null) return MISSING;
  if (typeof value !== 'string' || value.length > MAX_HEADER) return MALFORMED;
  const scheme = run(value, 0, TOKEN);
  const start = skip(value, scheme, ' ');
  // The letters of "bearer" alone differ from those of "BEARER" in bit 5: no locale, no Unicode folding.
  const bearer = scheme === 6 && value.slice(0, 6).toLowerCase() === 'bearer';
  if (scheme === 0 || (start === scheme && start < value.length)) return MALFORMED;
  if (bearer) {
    return isToken68(value, start) ? { kind: 'bearer', token: value.slice(start) } : MALFORMED;
  }
  if (scheme === value.length) return OTHER;
  return isToken68(value, start) || isParams(value, start) ? OTHER : MALFORMED;
}

/** What {@link authorizationOf} reads. */
export type RequestLike =
  | { readonly headers: { get(name: string): string | null } }
  | { get(name: string): string | null }
  | { readonly rawHeaders: readonly string[] }
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | string
  | readonly string[]
  | null
  | undefined;

/**
 * The `Authorization` values of a request: of a fetch `Request` or `Headers`, of anything with Node's
 * `rawHeaders` (whose `headers` hides a second line), of a plain header object, or the values themselves.
 * Query, body, cookies and every other header are never read.
 */
export function authorizationOf(request: unknown): unknown {
  if (request === undefined || request === null || typeof request === 'string') return request;
  if (Array.isArray(request)) return request;
  expect(typeof request === 'object', `request: pass a request, headers or their values, not ${quote(request)}`);
  const { rawHeaders, headers } = request as { rawHeaders?: unknown; headers?: unknown };
  if (Array.isArray(rawHeaders)) {
    return rawHeaders.filter((_, i) => i % 2 === 1 && isAuthorization(rawHeaders[i - 1]));
  }
  const source = typeof headers === 'object' && headers !== null ? headers : request;
  const { get } = source as { get?: unknown };
  if (typeof get === 'function') return get.call(source, 'authorization');
  return Object.entries(source).flatMap(([name, value]) => (isAuthorization(name) ? (value ?? []) : []));
}

const isAuthorization = (name: unknown): boolean =>
  typeof name === 'string' && name.length === 13 && name.toLowerCase() === 'authorization';
