/**
 * The Node server in front of a framework's listener: it answers what frameworks read differently,
 * and what is served beside the routes.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Answer } from '../service/problem.ts';
import { BODY_LIMIT, problem, refused } from '../service/problem.ts';
import type { Service } from './http.ts';
import { REALM } from './http.ts';
import { createOpenEndpoints } from './open-endpoints.ts';
import { followResponses } from './open-responses.ts';

export function send(res: ServerResponse, { status, headers, body }: Answer): void {
  res.statusCode = status;
  // Not with writeHead: after it, Node no longer computes the length.
  res.setHeaders(new Headers(headers));
  if (status === 413) hangUp(res, body);
  else res.end(body);
}

/** For how long, and how much, is read at most of what was refused for its length. */
const LINGER_MS = 500;
const LINGER_BYTES = 16 * BODY_LIMIT;

/**
 * Answers a client that may never stop sending, and closes. What it sends is discarded for a moment
 * more, because closing a connection with unread bytes can lose the answer (RFC 9112 §9.6).
 */
function hangUp(res: ServerResponse, body: string): void {
  res.setHeader('Connection', 'close');
  res.setHeader('Content-Length', Buffer.byteLength(body));
  res.write(body);
  let read = 0;
  const end = (): void => {
    clearTimeout(timer);
    res.end();
  };
  const timer = setTimeout(end, LINGER_MS);
  res.req.once('close', end);
  res.req.on('data', (chunk: Buffer) => {
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

/** Frameworks differ over a missing or invalid host: `999.1.1.1` has the letters of one. */
function isHost(host: string): boolean {
  return HOST.test(host) && URL.canParse(`http://${host}`);
}

/** The refusal of a request that frameworks would read differently; `null` for all others. */
function refusalOf({ url = '', headers, headersDistinct }: IncomingMessage): Answer | null {
  if (!TARGET.test(url)) return problem(404, 'There is nothing at this path.');
  // Nor do they agree on repeated lines.
  const types = headersDistinct['content-type'] ?? [];
  if (types.length > 1 || !isHost(headers.host ?? '')) return refused(400).answer;
  return null;
}

/** What Node's parser calls its errors. Any other is 400. */
const PARSER_STATUSES: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/**
 * What Node's parser refuses never becomes a request: the answer has to be written to the socket
 * itself.
 */
function answerUnparsed({ code = '' }: Error & { code?: string }, socket: Duplex): void {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const answer = problem(PARSER_STATUSES[code] ?? 400, 'The request could not be read.');
  const { status, body } = answer;
  const headers = {
    ...answer.headers,
    Connection: 'close',
    'Content-Length': Buffer.byteLength(body),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const { title } = JSON.parse(body) as { readonly title: string };
  socket.end(`HTTP/1.1 ${status} ${title}\r\n${lines.join('')}\r\n${body}`);
}

/**
 * A Node server in front of a framework's listener, which never sees requests that frameworks read
 * differently, or those for what is served beside the routes. This takes nothing away from the
 * guards: they are on the routes, whatever path led there.
 */
export function createNodeServer(listener: RequestListener, service?: Service): Server {
  const endpoints = service && createOpenEndpoints(service, REALM);
  const server = createServer({ requireHostHeader: false });
  followResponses(server);
  server.on('request', (req, res) => {
    const refusal = refusalOf(req);
    if (refusal !== null) {
      send(res, refusal);
      return;
    }
    const answered = endpoints?.(req) ?? null;
    if (answered === null) listener(req, res);
    else answered.then((answer) => send(res, answer)).catch(() => res.destroy());
  });
  return server.on('clientError', answerUnparsed);
}
