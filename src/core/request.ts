/**
 * From a request to the values of its `Authorization` lines. The only place in the core that reads
 * a header. Query, body, cookies and every other header are never read.
 */
import { assert, isObject } from './input.js';

/**
 * What {@link readAuthorization} reads. On Node, pass the request and never its `headers`: Node
 * drops a second `Authorization` line from those, and a request with two must be refused.
 */
export type RequestLike = RequestWithLines | RequestWithHeaders | HeaderFields | HeaderLines;

/** Node's requests, of HTTP/1 or 2. `rawHeaders` has names and values by turns. */
interface RequestWithLines {
  readonly rawHeaders: readonly string[];
}

/** A fetch `Request`; an event of Amazon's, whose `headers` has only the last of several lines. */
interface RequestWithHeaders {
  readonly headers?: HeaderFields;
  readonly multiValueHeaders?: HeaderFields;
}

/** Fetch `Headers`, or a plain object of them. */
type HeaderFields = HeaderReader | Readonly<Record<string, HeaderLines>> | null | undefined;

interface HeaderReader {
  get(name: string): string | null;
}

type HeaderLines = string | readonly string[] | undefined;

/** The fields that may contain a request's lines and headers. Unchecked: each may be anything. */
interface Message {
  readonly rawHeaders?: unknown;
  readonly headers?: unknown;
  readonly multiValueHeaders?: unknown;
  /** Fastify, Koa and Hapi wrap Node's request, and some wrap it twice. */
  readonly raw?: Message | null;
  readonly req?: Message | null;
}

/**
 * The `Authorization` values of a request: of a fetch `Request` or `Headers`, of anything with
 * Node's `rawHeaders` (whose `headers` hides a second line), of a plain header object, or the
 * values themselves.
 *
 * @throws TypeError on an object that is neither a request nor headers: it would always count as
 *   having no credential.
 */
export function readAuthorization(request: unknown): unknown {
  if (typeof request !== 'object' || request === null || Array.isArray(request)) return request;
  // Lines first: the headers of an object that wraps Node's request have already lost a second
  // line.
  const lines = rawLinesOf(request);
  if (lines !== null) return valuesInLines(lines);
  // Only now, because reading `headers` of Node's request builds an object from all lines.
  const headers = headersOf(request) ?? request;
  if (isReader(headers)) return headers.get('authorization');
  return valuesInFields(headers);
}

function isReader(headers: object): headers is HeaderReader {
  return typeof (headers as Partial<HeaderReader>).get === 'function';
}

/** Null if there are none: a request built by hand, such as by a cloud function, has no lines. */
function rawLinesOf(message: Message): readonly unknown[] | null {
  const { raw, req = raw?.req } = message;
  const { rawHeaders: lines = raw?.rawHeaders ?? req?.rawHeaders } = message;
  return Array.isArray(lines) && lines.length > 0 ? lines : null;
}

/** Node 20 keeps this many entries, 1,000 names and values, and silently drops the others. */
const MAX_ENTRIES = 2000;

/** An entry beyond the limit counts as one more value: a second `Authorization` could be there. */
function valuesInLines(lines: readonly unknown[]): readonly unknown[] {
  const isValue = (index: number): boolean => index % 2 === 1 && isAuthorization(lines[index - 1]);
  return lines.filter((_, index) => index >= MAX_ENTRIES || isValue(index));
}

/** The headers that a message has; null if it has none and may be a header object itself. */
function headersOf(message: Message): object | null {
  const { headers = wrappedHeadersOf(message), multiValueHeaders } = message;
  const hasAllLines = isObject(multiValueHeaders) && Object.keys(multiValueHeaders).length > 0;
  const found = headers === undefined || hasAllLines ? multiValueHeaders : headers;
  // Amazon's events may have null instead of headers.
  if (found === null) return {};
  // A text or a list is the value of a header called `headers`.
  return typeof found === 'object' && !Array.isArray(found) ? found : null;
}

function wrappedHeadersOf({ raw, req = raw?.req }: Message): unknown {
  return (req?.raw ?? raw)?.headers;
}

function valuesInFields(fields: object): unknown[] {
  const names = Object.keys(fields).filter(isAuthorization);
  const isHeaders = names.length > 0 || looksLikeHeaders(fields);
  assert(isHeaders, 'request: pass the request itself or its headers; this object is neither');
  return names.flatMap((name) => (fields as Readonly<Record<string, unknown>>)[name] ?? []);
}

/** Headers are texts and lists of texts. */
function looksLikeHeaders(fields: object): boolean {
  const isPart = (value: unknown): boolean =>
    (typeof value === 'object' || typeof value === 'function') &&
    value !== null &&
    !Array.isArray(value);
  return isObject(fields) && !Object.values(fields).some(isPart);
}

function isAuthorization(name: unknown): boolean {
  return typeof name === 'string' && name.length === 13 && name.toLowerCase() === 'authorization';
}
