/** Keeps track of unfinished responses, and ends them when the server stops. */
import type { Server, ServerResponse } from 'node:http';

const RESPONSES = new WeakMap<Server, Set<ServerResponse>>();

/**
 * Follows the responses of a server. Call it before you add any other listener for requests. After
 * the server was closed, each connection ends with its present response. Node alone closes only
 * those that are idle at that moment.
 */
export function followResponses(server: Server): void {
  const responses = new Set<ServerResponse>();
  RESPONSES.set(server, responses);
  server.on('request', (_req, res: ServerResponse) => {
    responses.add(res);
    // A new request on an old connection.
    if (!server.listening) res.setHeader('Connection', 'close');
    res.once('close', () => {
      responses.delete(res);
      if (!server.listening) server.closeIdleConnections();
    });
  });
}

/**
 * Checks whether a response is a stream without an end, which only a GET can open. It looks at the
 * request, because a response does not show the headers that `writeHead` got.
 */
function isStanding({ req }: ServerResponse): boolean {
  const { accept = '' } = req.headers;
  return req.method === 'GET' && accept.includes('text/event-stream');
}

/** Ends the streams, and tells other clients that their connection ends with the answer. */
export function endResponses(server: Server): void {
  for (const res of RESPONSES.get(server) ?? []) {
    if (!res.headersSent) res.setHeader('Connection', 'close');
    else if (isStanding(res)) res.end();
  }
}
