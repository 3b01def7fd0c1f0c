/**
 * From a request to the values of its `Authorization` lines. The only place in the core that reads
 * a header. Query, body, cookies and every other header are never read.
 */
import { assert, isObject } from './input.js';

/**
 * What a credential is read from. On Node, pass the request and never its `headers`: Node
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
  /** Frameworks wrap the request: see `unwrap`. */
  readonly raw?: Message | null;
  readonly req?: Message | null;
  readonly socket?: { readonly server?: { readonly maxHeadersCount?: unknown } } | null;
}

/**
 * The `Authorization` values of a request: of a fetch `Request` or `Headers`, of anything with
 * Node's `rawHeaders` (whose `headers` hides a second line), of a plain header object, or the
 * values themselves.
 *
 * @throws TypeError on an object that is neither a request nor headers, or whose headers are not
 *   texts: it would always count as having no credential.
 */
export function readAuthorization(request: unknown): unknown {
  if (typeof request !== 'object' || request === null || Array.isArray(request)) return request;
  // Lines first: the headers of an object that wraps Node's request have already lost a second
  // line.
  const values = valuesInLinesOf(request);
  if (values !== null) return values;
  // Only now, because reading `headers` of Node's request builds an object from all lines.
  const found = headersOf(request) ?? request;
  // The `get` of a Map knows one spelling of a name.
  const headers: object = found instanceof Map ? Object.fromEntries<unknown>(found) : found;
  if (isReader(headers)) return headers.get('authorization');
  return valuesInFields(headers);
}

function isReader(headers: object): headers is HeaderReader {
  return typeof (headers as Partial<HeaderReader>).get === 'function';
}

/** Null if there are none: a request built by hand, such as by a cloud function, has no lines. */
function valuesInLinesOf(message: Message): readonly unknown[] | null {
  const wrapped = unwrap(message);
  const { rawHeaders: lines = wrapped.rawHeaders } = message;
  if (!Array.isArray(lines) || lines.length === 0 || isFields(message)) return null;
  const { socket = wrapped.socket } = message;
  // Node 20 silently drops lines behind this limit, and a second `Authorization` with them: too
  // many values, which are refused as two are.
  const maxPairs = Number(socket?.server?.maxHeadersCount) || MAX_PAIRS;
  return lines.length < Math.max(2 * maxPairs, CHUNK) ? valuesInLines(lines) : lines;
}

/** The limit of a server that has none of its own. */
const MAX_PAIRS = 1000;
/** So many names and values Node reads at once, and keeps whatever the limit is. */
const CHUNK = 62;

/** Whether this is an object of headers, one of which somebody has called `rawHeaders`. */
function isFields(message: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(message);
  const isPlain = prototype === null || prototype === Object.prototype;
  return isPlain && Object.keys(message).length > 1 && looksLikeHeaders(message);
}

function valuesInLines(lines: readonly unknown[]): readonly unknown[] {
  return lines.filter((_, index) => index % 2 === 1 && isAuthorization(lines[index - 1]));
}

/** The headers that a message has; null if it has none and may be a header object itself. */
function headersOf(message: Message): object | null {
  const { headers = unwrap(message).headers, multiValueHeaders } = message;
  const hasAllLines = isObject(multiValueHeaders) && Object.keys(multiValueHeaders).length > 0;
  const found = headers === undefined || hasAllLines ? multiValueHeaders : headers;
  // Amazon's events may have null instead of headers.
  if (found === null) return {};
  // A text or a list is the value of a header called `headers`.
  return typeof found === 'object' && !Array.isArray(found) ? found : null;
}

/** The request inside that of a framework, of Node or of fetch. */
function unwrap(message: Message): Message {
  const { raw, req } = message;
  if (isMessage(raw?.req)) return raw.req; // Hapi: `request.raw.req`.
  if (isMessage(raw)) return raw; // Fastify: `request.raw`; Hono: `c.req.raw`, given `c.req`.
  if (isMessage(req?.raw)) return req.raw; // Hono: `c.req.raw`, given `c`.
  return isMessage(req) ? req : message; // Koa: `ctx.req`. Node and fetch wrap nothing.
}

/** Lines first: reading `headers` of Node's request builds an object from all of them. */
function isMessage(value: Message | null | undefined): value is Message {
  return value?.rawHeaders !== undefined || value?.headers !== undefined;
}

function valuesInFields(fields: object): unknown {
  const names = Object.keys(fields).filter(isAuthorization);
  const [only] = names;
  if (only === undefined) assertHeaders(fields);
  const read = (name: string): unknown => (fields as Readonly<Record<string, unknown>>)[name];
  // `flatMap` is slow, and nearly every request has one.
  if (only !== undefined && names.length === 1) return read(only);
  return names.flatMap((name) => read(name) ?? []);
}

/** For an object without the header, which may have it somewhere else. */
function assertHeaders(fields: object): void {
  const instead = 'request: pass the request itself or its headers; this object is neither';
  assert(looksLikeHeaders(fields), instead);
  // By its number of fields: whoever sends headers of these names sends others, too.
  const isTokenEvent = 'methodArn' in fields && Object.keys(fields).length === 3;
  const isOfTexts = !Object.values(fields).flat().some(isPart);
  assert(
    isOfTexts && !isTokenEvent,
    'request: pass its Authorization values as texts: event.authorizationToken of a TOKEN ' +
      'authorizer; request.headers.authorization?.map(({ value }) => value) of Lambda@Edge',
  );
}

/** Headers are texts and lists of texts. */
function looksLikeHeaders(fields: object): boolean {
  return isObject(fields) && !Object.values(fields).some(isPart);
}

function isPart(value: unknown): boolean {
  const isReference = typeof value === 'object' || typeof value === 'function';
  return isReference && value !== null && !Array.isArray(value);
}

function isAuthorization(name: unknown): boolean {
  return typeof name === 'string' && name.length === 13 && name.toLowerCase() === 'authorization';
}
