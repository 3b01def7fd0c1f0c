/**
 * Reads the `Authorization` values of a request. This is the only place in the core that reads a
 * header, and it never reads the query, the body, cookies or any other header.
 */
import { assert, isObject } from './input.js';

/**
 * A request, or its headers. On Node, pass the request and never its `headers`: Node drops a second
 * `Authorization` line from `headers`, and a request with two must be refused.
 */
export type RequestLike = RequestWithLines | RequestWithHeaders | HeaderFields | HeaderLines;

/** A request of Node, of HTTP/1 or 2. `rawHeaders` alternates names and values. */
interface RequestWithLines {
  readonly rawHeaders: readonly string[];
}

/** A fetch `Request`, or an event of AWS, whose `headers` has only the last of several lines. */
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

/**
 * The fields that may contain a request's lines and headers. Not checked: each may be any value.
 */
interface Message {
  readonly rawHeaders?: unknown;
  readonly headers?: unknown;
  readonly multiValueHeaders?: unknown;
  /** The request that a framework wraps: see `unwrap`. */
  readonly raw?: Message | null;
  readonly req?: Message | null;
  readonly socket?: { readonly server?: { readonly maxHeadersCount?: unknown } } | null;
}

/**
 * Reads the `Authorization` values from a fetch `Request` or `Headers`, from anything with Node's
 * `rawHeaders` (whose `headers` hides a second line), or from a plain header object. You can also
 * pass the values themselves.
 *
 * @throws TypeError on an object that is neither a request nor headers, or whose headers are not
 *   texts: it would always seem to have no credential.
 */
export function readAuthorization(request: unknown): unknown {
  if (typeof request !== 'object' || request === null) return request;
  if (Array.isArray(request)) return readTexts(request);
  // Lines first: headers of an object that wraps Node's request have already lost a second line.
  const values = valuesInLinesOf(request);
  if (values !== null) return values;
  // Only now, because reading `headers` of Node's request builds an object from all lines.
  const found = headersOf(request) ?? request;
  // The `get` of a Map is case-sensitive.
  const headers: object = found instanceof Map ? Object.fromEntries<unknown>(found) : found;
  const isReader = typeof (headers as Partial<HeaderReader>).get === 'function';
  if (isReader) return (headers as HeaderReader).get('authorization');
  return valuesInFields(headers as Readonly<Record<string, unknown>>);
}

/**
 * Returns null without `rawHeaders`, as in a request built by hand, for example by a cloud
 * function.
 */
function valuesInLinesOf(message: Message): readonly unknown[] | null {
  const wrapped = unwrap(message);
  const { rawHeaders: lines = wrapped.rawHeaders } = message;
  if (!Array.isArray(lines) || lines.length === 0 || isFields(message)) return null;
  const { socket = wrapped.socket } = message;
  // Node 20 silently drops lines beyond this limit, perhaps with a second `Authorization`. At the
  // limit, return all values: the request is then refused like one with two.
  const maxPairs = Number(socket?.server?.maxHeadersCount) || MAX_PAIRS;
  return lines.length < Math.max(2 * maxPairs, CHUNK) ? valuesInLines(lines) : lines;
}

/** The limit of a server without its own setting. */
const MAX_PAIRS = 1000;
/** How many names and values Node reads at once. It keeps these whatever the limit. */
const CHUNK = 62;

/** Checks whether this is a plain header object in which a header is called `rawHeaders`. */
function isFields(message: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(message);
  const isPlain = prototype === null || prototype === Object.prototype;
  return isPlain && Object.keys(message).length > 1 && looksLikeHeaders(message);
}

function valuesInLines(lines: readonly unknown[]): readonly unknown[] {
  return lines.filter((_, index) => index % 2 === 1 && isAuthorization(lines[index - 1]));
}

/** Returns the headers of a message; null if it has none and may be a header object itself. */
function headersOf(message: Message): object | null {
  const { headers = unwrap(message).headers, multiValueHeaders } = message;
  const hasAllLines = isObject(multiValueHeaders) && Object.keys(multiValueHeaders).length > 0;
  const found = headers === undefined || hasAllLines ? multiValueHeaders : headers;
  // AWS events may have null instead of headers.
  if (found === null) return {};
  // If it is a text or a list, the message is a header object, with a header called `headers`.
  return typeof found === 'object' && !Array.isArray(found) ? found : null;
}

/** Returns the Node or fetch request inside a framework's request. */
function unwrap(message: Message): Message {
  const { raw, req } = message;
  if (isMessage(raw?.req)) return raw.req; // Hapi: `request.raw.req`.
  if (isMessage(raw)) return raw; // Fastify: `request.raw`; Hono: `c.req.raw`, given `c.req`.
  if (isMessage(req?.raw)) return req.raw; // Hono: `c.req.raw`, given `c`.
  return isMessage(req) ? req : message; // Koa: `ctx.req`. Node and fetch wrap nothing.
}

/**
 * Tests `rawHeaders` first: reading `headers` of Node's request builds an object from all lines.
 */
function isMessage(value: Message | null | undefined): value is Message {
  return value?.rawHeaders !== undefined || value?.headers !== undefined;
}

function valuesInFields(fields: Readonly<Record<string, unknown>>): unknown {
  const names = Object.keys(fields).filter(isAuthorization);
  if (names.length === 0) assertHeaders(fields);
  return readTexts(names.flatMap((name) => fields[name] ?? []));
}

/** Throws if an object without the header may carry the credential elsewhere. */
function assertHeaders(fields: object): void {
  const instead = 'request: pass the request itself or its headers; this object is neither';
  assert(looksLikeHeaders(fields), instead);
  // Recognised by its three fields: a request with a header `methodArn` would have other headers
  // too.
  const isTokenEvent = 'methodArn' in fields && Object.keys(fields).length === 3;
  readTexts(isTokenEvent ? [fields] : Object.values(fields).flat());
}

/**
 * Returns the values. Throws if one is an object, as in Lambda@Edge: no client can send one, so the
 * mistake is the service's.
 */
function readTexts(values: readonly unknown[]): readonly unknown[] {
  assert(
    !values.some(isPart),
    'request: pass its Authorization values as texts: event.authorizationToken of a TOKEN ' +
      'authorizer; request.headers.authorization?.map(({ value }) => value) of Lambda@Edge',
  );
  return values;
}

/** Checks whether every value is a text or a list, as in headers. */
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
