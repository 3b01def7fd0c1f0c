/** Puts a handler from `Request` to `Response` behind a Node server. */
import type { RequestListener } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { send } from './http.ts';

/** As Hono passes Node's own request and response; this is not served over HTTP/2. */
type Handler = (request: Request, env: HttpBindings) => Response | Promise<Response>;

/**
 * Sends the refusal of a body that is too long as the other servers do. By itself, Hono's server
 * answers it with `keep-alive` and cuts the connection half a second later, when it may already
 * carry the client's next request.
 */
export const fetchListener = (handler: Handler): RequestListener =>
  getRequestListener(async (request, env) => {
    const { outgoing } = env as HttpBindings;
    const response = await handler(request, env as HttpBindings);
    if (response.status !== 413) return response;
    send(outgoing, {
      status: 413,
      headers: Object.fromEntries(response.headers),
      body: await response.text(),
    });
    // A copy: if `Response` had been replaced when this was loaded, the original would be sent as
    // an answer.
    return RESPONSE_ALREADY_SENT.clone();
  });
