/** Puts a handler from `Request` to `Response` behind a Node server. */
import type { RequestListener } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { send } from './node-server.ts';

/** As Hono passes Node's own request and response; this is not served over HTTP/2. */
type Handler = (request: Request, env: HttpBindings) => Response | Promise<Response>;

/**
 * Sends the refusal of a body that is too long as the other servers do. By itself, Hono's server
 * answers it with `keep-alive` and cuts the connection half a second later, when it may already
 * carry the client's next request.
 */
export function fetchListener(handler: Handler): RequestListener {
  return getRequestListener(async (request, env) => {
    const bindings = env as HttpBindings;
    const response = await handler(request, bindings);
    if (response.status !== 413) return response;
    const headers = Object.fromEntries(response.headers);
    send(bindings.outgoing, { status: 413, headers, body: await response.text() });
    // A copy: if `Response` had been replaced when this was loaded, the original would be sent as
    // an answer.
    return RESPONSE_ALREADY_SENT.clone();
  });
}
