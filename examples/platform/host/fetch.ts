/** Puts a fetch handler behind a Node server. */
import type { RequestListener } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { send } from './node-server.ts';

/** A handler that also gets Node's request and response from Hono. HTTP/2 is not supported. */
type Handler = (request: Request, env: HttpBindings) => Response | Promise<Response>;

/**
 * Sends the refusal of a body that is too long like the other servers. Hono's server would answer
 * with `keep-alive` and cut the connection half a second later, when it may already carry the
 * client's next request.
 */
export function fetchListener(handler: Handler): RequestListener {
  return getRequestListener(async (request, env) => {
    const bindings = env as HttpBindings;
    const response = await handler(request, bindings);
    if (response.status !== 413) return response;
    const headers = Object.fromEntries(response.headers);
    send(bindings.outgoing, { status: 413, headers, body: await response.text() });
    // A copy: the original would be sent if `Response` was replaced before this module loaded.
    return RESPONSE_ALREADY_SENT.clone();
  });
}
