/** The servers on Express. */
import type { RequestListener } from 'node:http';
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import { createGuard } from '../../examples/express/adapter.ts';
import { ENTITY, NEEDED } from '../keys.ts';
import { load } from '../peers/load.ts';
import { jwts, ourKeys, plainKeys, unread } from './credentials.ts';
import { answerTo, NOTHING, OURS, PATH, PLAIN, type Serve } from './route.ts';

const onError: ErrorRequestHandler = (error: unknown, _req, res, _next) => {
  res.status(statusOf(error)).end();
};

/** Of our own errors, and of those of the libraries. */
function statusOf(error: unknown): number {
  const { status } = error as { readonly status?: number };
  return status ?? 500;
}

function routed(...middleware: readonly RequestHandler[]): RequestListener {
  const app = express();
  app.get(PATH, ...middleware, (req, res) => void res.json(answerTo(req.entityUuid ?? ENTITY)));
  app.use(onError);
  return app;
}

interface OAuth2 {
  auth(options: object): RequestHandler;
  requiredScopes(scope: string): RequestHandler;
}

export const onExpress: Readonly<Record<string, Serve>> = {
  bare: () => ({ ...unread(), listener: routed() }),
  [NOTHING]: () => ({ ...unread(), listener: routed((_req, _res, next) => next()) }),
  [PLAIN]: () => {
    const { entityOf, credentials } = plainKeys();
    const listener = routed((req, res, next) => {
      res.setHeader('Cache-Control', 'no-store');
      req.entityUuid = entityOf(req.headers);
      next();
    });
    return { ...credentials, listener };
  },
  [OURS]: async () => {
    const { guarding, credentials } = await ourKeys();
    return { ...credentials, listener: routed(createGuard(guarding)('listThreats')) };
  },
  'express-oauth2-jwt-bearer, RS256': async () => {
    const { options, credentials } = await jwts();
    const { auth, requiredScopes } = (await load('express-oauth2-jwt-bearer')) as OAuth2;
    return { ...credentials, listener: routed(auth(options), requiredScopes(NEEDED)) };
  },
};
