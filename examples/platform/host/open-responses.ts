/** The responses of a server that are not finished, and how they end when it is to stop. */
import type { Server, ServerResponse } from 'node:http';

const RESPONSES = new WeakMap<Server, Set<ServerResponse>>();

/**
 * Follows the responses of a server. To be called before it has any other listener for requests.
 * Once it is closed, each connection ends with the response that it has: Node itself closes only
 * those that are idle at that moment.
 */
export function followResponses(server: Server): void {
  const responses = new Set<ServerResponse>();
  RESPONSES.set(server, responses);
  server.on('request', (_req, res: ServerResponse) => {
    responses.add(res);
    // On a connection from before.
    if (!server.listening) res.setHeader('Connection', 'close');
    res.once('close', () => {
      responses.delete(res);
      if (!server.listening) server.closeIdleConnections();
    });
  });
}

/**
 * A stream that was asked for by itself: it has no end, whereas the answer to a POST has one. Told
 * by the request, because a response does not show the headers that `writeHead` was given.
 */
function isStanding({ req }: ServerResponse): boolean {
  const { accept = '' } = req.headers;
  return req.method === 'GET' && accept.includes('text/event-stream');
}

/** Ends the streams, and tells those who wait for an answer that the connection ends with it. */
export function endResponses(server: Server): void {
  for (const res of RESPONSES.get(server) ?? []) {
    if (!res.headersSent) res.setHeader('Connection', 'close');
    else if (isStanding(res)) res.end();
  }
}
