/** The servers on Hono. */
import type { RequestListener } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Hono, type MiddlewareHandler } from 'hono';
import { bearerAuth } from 'hono/bearer-auth';
import { createGuard, type Guarded } from '../../examples/hono/adapter.ts';
import { HttpError } from '../by-hand.ts';
import { ENTITY } from '../keys.ts';
import { ourKeys, plainKeys, unread } from './credentials.ts';
import { answerTo, NOTHING, OURS, PATH, PLAIN, type Serve } from './route.ts';

function hono(...middleware: readonly MiddlewareHandler<Guarded>[]): RequestListener {
  const app = new Hono<Guarded>();
  app.on('GET', [PATH], ...middleware, (c) => c.json(answerTo(c.get('entityUuid') ?? ENTITY)));
  app.onError((error) => {
    if ('getResponse' in error) return (error as { getResponse(): Response }).getResponse();
    return new Response(null, { status: error instanceof HttpError ? error.status : 500 });
  });
  return getRequestListener(app.fetch);
}

export const onHono: Readonly<Record<string, Serve>> = {
  bare: () => ({ ...unread(), listener: hono() }),
  [NOTHING]: () => ({ ...unread(), listener: hono(async (_c, next) => await next()) }),
  [PLAIN]: () => {
    const { entityOf, credentials } = plainKeys();
    const listener = hono(async (c, next) => {
      c.header('Cache-Control', 'no-store');
      c.set('entityUuid', entityOf({ authorization: c.req.header('Authorization') }));
      await next();
    });
    return { ...credentials, listener };
  },
  [OURS]: async () => {
    const { guarding, credentials } = await ourKeys();
    return { ...credentials, listener: hono(createGuard(guarding)('listThreats')) };
  },
  'hono/bearer-auth, one token': () => {
    const [token = ''] = plainKeys().tokens;
    return { tokens: [token], guarded: true, listener: hono(bearerAuth({ token })) };
  },
  'hono/bearer-auth, look-up by hand': () => {
    const { find, tokens } = plainKeys();
    const listener = hono(bearerAuth({ verifyToken: (token) => find(token) !== undefined }));
    return { tokens, guarded: true, listener };
  },
};
