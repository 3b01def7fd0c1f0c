/**
 * The Node server in front of a framework's listener. It refuses requests that frameworks read
 * differently, and serves the endpoints that are not routes of the framework.
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
  // Not `writeHead`, after which Node no longer computes the length.
  res.setHeaders(new Headers(headers));
  if (status === 413) hangUp(res, body);
  else res.end(body);
}

/** After a body was refused for its length, at most this much of it is read, for this long. */
const LINGER_MS = 500;
const LINGER_BYTES = 16 * BODY_LIMIT;

/**
 * Answers a client that may never stop sending, and closes the connection. Before that, it reads
 * and discards for a moment, because closing with unread bytes can lose the answer (RFC 9112 §9.6).
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
    // An earlier reader may have paused it: a web stream does so after each chunk.
    else res.req.resume();
  });
  res.req.resume();
}

// Routers disagree on percent-encoding, dot segments, empty segments and trailing slashes. They
// agree on these targets.
const TARGET = /^(?:\/\.well-known)?(?:\/[0-9A-Za-z_-]{1,64})+(?:\.json)?(?:\?[!-"$-~]*)?$/;
const HOST = /^(?:[0-9A-Za-z._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$/;

/** Frameworks disagree on a missing or invalid host, such as `999.1.1.1`. */
function isHost(host: string): boolean {
  return HOST.test(host) && URL.canParse(`http://${host}`);
}

/** Refuses a request that frameworks would read differently; returns `null` for all others. */
function refusalOf({ url = '', headers, headersDistinct }: IncomingMessage): Answer | null {
  if (!TARGET.test(url)) return problem(404, 'There is nothing at this path.');
  // They also disagree on repeated lines.
  const types = headersDistinct['content-type'] ?? [];
  if (types.length > 1 || !isHost(headers.host ?? '')) return refused(400).answer;
  return null;
}

/** The status for errors of Node's parser, by code. All others get 400. */
const PARSER_STATUSES: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** Answers what Node's parser refuses. It never becomes a request, so this writes to the socket. */
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
 * Makes the Node server in front of a framework's listener. The listener never gets requests that
 * frameworks read differently, nor requests for the open endpoints. The guards do not depend on
 * this: they are on the routes, whatever path leads there.
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
