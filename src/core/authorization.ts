/**
 * From a request to one credential, or to the reason why there is none. The only place in the core
 * that reads a header.
 *
 *   credentials = auth-scheme [ 1*SP ( token68 / auth-param *( OWS "," OWS auth-param ) ) ]   ; RFC 9110 §11.4
 *   auth-scheme = token
 *   token68     = 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"="
 *   auth-param  = token BWS "=" BWS ( token / quoted-string )
 *
 * All deviations are stricter: no empty list elements, no obs-text, no white space around the value
 * (HTTP parsers have removed it), at most 16 KiB. Two credentials that a gateway or fetch's
 * `Headers` joined with a comma match nothing here, so they are malformed, whichever scheme comes
 * first.
 */
import { expect, isObject } from './errors.js';

/**
 * What an `Authorization` value is. `other-scheme` never says which: people send the raw key there.
 */
export type Authorization = Readonly<{ kind: NoCredential } | { kind: 'bearer'; token: string }>;
type NoCredential = 'missing' | 'other-scheme' | 'malformed';

// No two neighbours in these can match the same character, so they run in linear time.
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const TOKEN68 = '[0-9A-Za-z._~+/-]+=*';
const PARAM = `${TOKEN}[ \\t]*=[ \\t]*(?:${TOKEN}|"(?:[\\t !#-[\\]-~]|\\\\[\\t -~])*")`;
const BEARER = new RegExp(`^Bearer +${TOKEN68}$`, 'i');
const OTHER = new RegExp(
  `^(?!Bearer(?: |$))${TOKEN}(?: +(?:${TOKEN68}|${PARAM}(?:[ \\t]*,[ \\t]*${PARAM})*))?$`,
  'i',
);

/**
 * Reads one `Authorization` value, or the list of values that a request carried.
 *
 * Accepts whatever a framework passes, and never throws. Not checked: what the token is.
 *
 * @param value The field value. A list counts as one header line per element, `undefined` and
 *   `null` as none.
 * @returns `kind`, and `token` for a well-formed `Bearer` credential (RFC 6750 §2.1, auth-scheme in
 *   any case). `malformed` is anything that is not a text, two values, a bare `Bearer`, and more
 *   than 16 KiB.
 * @example
 * parseAuthorization('Bearer abc.def'); // { kind: 'bearer', token: 'abc.def' }
 */
export function parseAuthorization(value: unknown): Authorization {
  const lines = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
  const [text] = lines;
  if (lines.length === 0) return Object.freeze({ kind: 'missing' });
  if (lines.length > 1 || typeof text !== 'string' || text.length > 16_384)
    return Object.freeze({ kind: 'malformed' });
  if (BEARER.test(text)) return { kind: 'bearer', token: text.slice(text.lastIndexOf(' ') + 1) };
  return Object.freeze({ kind: OTHER.test(text) ? 'other-scheme' : 'malformed' });
}

/**
 * What {@link authorizationOf} reads. On Node, pass the request and never its `headers`: Node drops
 * a second `Authorization` line from those, and a request with two must be refused.
 */
export type RequestLike = Wrapper | Fields | Lines;
type Wrapper =
  | { readonly rawHeaders: readonly string[] }
  | Partial<Record<'headers' | 'multiValueHeaders', Fields>>;
type Fields =
  | { get(name: string): string | null }
  | Readonly<Record<string, Lines>>
  | null
  | undefined;
type Lines = string | readonly string[] | undefined;

const isAuthorization = (s: unknown) =>
  typeof s === 'string' && s.length === 13 && s.toLowerCase() === 'authorization';

/**
 * The `Authorization` values of a request: of a fetch `Request` or `Headers`, of anything with
 * Node's `rawHeaders` (whose `headers` hides a second line), of a plain header object, or the
 * values themselves. Query, body, cookies and every other header are never read.
 *
 * @throws TypeError on an object that is neither a request nor headers: it would always count as
 *   having no credential.
 */
export function authorizationOf(request: unknown): unknown {
  if (request === null || typeof request !== 'object' || Array.isArray(request)) return request;
  // Fastify, Koa and Hapi wrap Node's request; their own `headers` have already lost a second line.
  // A request made by hand, such as for a cloud function, has no lines. Of more than 1,000 lines,
  // Node 20 keeps the first and drops the others, which could include a second `Authorization`: so
  // every line beyond 1,000 counts as one.
  const {
    raw,
    req = raw?.req,
    rawHeaders: list = raw?.rawHeaders ?? req?.rawHeaders,
  } = Object(request);
  if (Array.isArray(list) && list.length > 0)
    return list.filter((_, i) => i >= 2000 || (i % 2 === 1 && isAuthorization(list[i - 1])));
  // Read only here: reading `headers` of Node's request builds an object of all lines. In Amazon's
  // events, `headers` has only the last of several lines, or is null.
  const { headers = (req?.raw ?? raw)?.headers, multiValueHeaders: all } = Object(request);
  const named =
    headers === undefined || (isObject(all) && Object.keys(all).length > 0) ? all : headers;
  // If `headers` is a text or a list, it is a header of that name.
  const from = typeof named === 'object' && !Array.isArray(named) ? (named ?? {}) : request;
  if (typeof from.get === 'function') return from.get('authorization');
  const names = Object.keys(from).filter(isAuthorization);
  const odd =
    !names[0] &&
    (!isObject(from) || Object.values(from).some((v) => Object(v) === v && !Array.isArray(v)));
  expect(!odd, 'request: pass the request itself or its headers; this object is neither');
  return names.flatMap((name) => from[name] ?? []);
}
