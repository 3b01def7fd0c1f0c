/**
 * What the three servers share at the HTTP edge, so that a request gets the same answer whichever
 * framework serves it. The frameworks route, guard and read the body; this reads the rest.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Keyring, Principal } from 'keyscope';
import type { catalog } from '../service/catalog.ts';
import type { Domain } from '../service/domain.ts';
import { Conflict } from '../service/domain.ts';
import type { Answer, Report } from '../service/problem.ts';
import { BODY_LIMIT, problem, Refusal, refused } from '../service/problem.ts';
import type { Route } from '../service/routes.ts';
import { routes } from '../service/routes.ts';
import { createOpen } from './open-endpoints.ts';
import type { Tokens } from './tokens.ts';

/** What a server is made of. */
export interface Service {
  readonly keyring: Keyring<typeof catalog>;
  readonly domain: Domain;
  /** How clients reach the service, as in `https://api.example.com`. */
  readonly publicUrl?: string;
  /**
   * Accepts tokens made for MCP, whereas `keyring` accepts those made for REST. Default: `keyring`.
   */
  readonly mcpKeyring?: Keyring<typeof catalog>;
  /** Makes tokens, if the service does. */
  readonly tokens?: Tokens;
  /**
   * Told of every error that is not the client's, including outages of the key store. Default: the
   * console.
   */
  readonly report?: Report;
}

export const REALM = 'deception platform';
const ENTITY = 'entity_uuid';

// ── Requests ──────────────────────────────────────────────────────────────────────────────────────────

/** Reads the query of a URL or path, without relying on any framework's own parsing. */
const parameters = (url: string): URLSearchParams => {
  const start = url.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : url.slice(start + 1));
};

/** Every value of `entity_uuid`: none means the key's own, and the core refuses more than one. */
export const entityOf = (url: string): readonly string[] => parameters(url).getAll(ENTITY);

function queryOf(url: string): Record<string, string> {
  const others = [...parameters(url)].filter(([name]) => name !== ENTITY);
  const query = Object.fromEntries(others);
  if (Object.keys(query).length < others.length)
    throw new Refusal(400, 'query: a parameter is repeated');
  return query;
}

/** A request after its guard. */
export interface Admitted {
  readonly principal: Principal;
  readonly entityUuid: string;
  readonly params: { readonly id?: string | string[] };
  readonly url: string;
  readonly header: (name: string) => string | null | undefined;
  /** What was read of the body; no body counts as empty. */
  readonly body?: unknown;
}

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i;

function bodyOf({ header, body }: Admitted): unknown {
  const type = header('content-type') ?? 'application/json';
  const encoding = header('content-encoding') ?? 'identity';
  if (!JSON_TYPE.test(type) || encoding.toLowerCase() !== 'identity') throw refused(415);
  const bytes = body instanceof Uint8Array || body instanceof ArrayBuffer ? body : new Uint8Array();
  if (bytes.byteLength === 0) return undefined;
  if (!header('content-type')) throw refused(415);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw new Refusal(400, 'body: this is no JSON text in UTF-8');
  }
}

/** Serves one route to an admitted request. Rejects with errors that are not the client's fault. */
export async function answer(
  route: Route,
  { domain }: Service,
  request: Admitted,
): Promise<Answer> {
  try {
    const { principal, entityUuid, params, url } = request;
    const query = queryOf(url);
    const sent = route.method === 'GET' ? undefined : bodyOf(request);
    if (route.body === null && sent !== undefined)
      throw new Refusal(400, 'body: this operation takes none');
    const body = route.handle({ domain, principal, entityUuid, id: params.id, query, body: sent });
    const { status } = route;
    if (body === undefined) return { status, headers: {}, body: '' };
    return { status, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  } catch (error) {
    if (error instanceof Refusal) return error.answer;
    if (error instanceof Conflict) return problem(409, error.message);
    throw error;
  }
}

// ── Requests without a route ──────────────────────────────────────────────────────────────────────────

const SHAPES = routes.map(({ method, path }) => ({
  method,
  shape: new RegExp(`^${path.replace(/:[a-z]+/g, '[^/]+')}$`),
}));

/**
 * A request that no route accepted: 404, or for a known path 405, or 204 to OPTIONS, both with
 * `Allow`. None of these needs a credential: they reveal what the documentation says, and nothing
 * about what exists.
 */
export function unrouted(method: string, url: string): Answer {
  const path = url.replace(/\?.*$/, '');
  const methods = SHAPES.filter(({ shape }) => shape.test(path)).map((route) => route.method);
  if (methods.length === 0) return problem(404, 'There is nothing at this path.');
  const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS']
    .sort()
    .join(', ');
  if (method === 'OPTIONS')
    return { status: 204, headers: { Allow: allow, 'Cache-Control': 'no-store' }, body: '' };
  return problem(405, 'This path does not take this method.', { Allow: allow });
}

// ── The Node server ───────────────────────────────────────────────────────────────────────────────────

export function send(res: ServerResponse, { status, headers, body }: Answer): void {
  res.statusCode = status;
  // Not with writeHead: after it, Node no longer computes the length.
  res.setHeaders(new Headers(headers));
  if (status === 413) hangUp(res, body);
  else res.end(body);
}

// How much more is read, at most, of what was refused for its length.
const [LINGER_MS, LINGER_BYTES] = [500, 16 * BODY_LIMIT];

/**
 * Answers a client that may never stop sending, and closes. What it sends is discarded for a moment
 * more, because closing a connection with unread bytes can lose the answer (RFC 9112 §9.6).
 */
function hangUp(res: ServerResponse, body: string): void {
  res
    .setHeader('Connection', 'close')
    .setHeader('Content-Length', Buffer.byteLength(body))
    .write(body);
  let read = 0;
  const end = () => {
    clearTimeout(timer);
    res.end();
  };
  const timer = setTimeout(end, LINGER_MS);
  res.req.once('close', end).on('data', (chunk: Buffer) => {
    read += chunk.length;
    if (read > LINGER_BYTES) end();
    // Once more, in case a previous reader stopped: a web stream pauses it at each piece.
    else res.req.resume();
  });
  res.req.resume();
}

// Routers differ over percent-encoding, dot segments, empty segments and trailing slashes. They
// agree on this.
const TARGET = /^(?:\/\.well-known)?(?:\/[0-9A-Za-z_-]{1,64})+(?:\.json)?(?:\?[!-"$-~]*)?$/;
const HOST = /^(?:[0-9A-Za-z._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$/;

function unreadable({ url = '', headers, headersDistinct }: IncomingMessage): Answer | null {
  if (!TARGET.test(url)) return problem(404, 'There is nothing at this path.');
  // Frameworks differ over repeated lines, and over a missing or invalid host: `999.1.1.1` has the
  // letters of one.
  const { host = '' } = headers;
  const types = headersDistinct['content-type']?.length ?? 0;
  if (types > 1 || !HOST.test(host) || !URL.canParse(`http://${host}`)) return refused(400).answer;
  return null;
}

/**
 * What Node's parser refuses never becomes a request: the answer has to be written to the socket
 * itself.
 */
function unparsed(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const status =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? 431
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? 408
        : 400;
  const { headers, body } = problem(status, 'The request could not be read.', {
    Connection: 'close',
  });
  const lines = Object.entries({ ...headers, 'Content-Length': Buffer.byteLength(body) });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.end(`HTTP/1.1 ${status} ${JSON.parse(body).title}\r\n${head}\r\n${body}`);
}

/**
 * A Node server in front of a framework's listener, which never sees requests that frameworks read
 * differently, or those for what is served beside the routes. This takes nothing away from the
 * guards: they are on the routes, whatever path led there.
 */
export function createNodeServer(listener: RequestListener, service?: Service): Server {
  const open = service && createOpen(service, REALM);
  const server = createServer({ requireHostHeader: false }, (req, res) => {
    const refusal = unreadable(req);
    const answered = refusal === null ? open?.(req) : Promise.resolve(refusal);
    if (answered) answered.then((answer) => send(res, answer)).catch(() => res.destroy());
    else listener(req, res);
  });
  return server.on('clientError', unparsed);
}
