/** The two routes of the published contract, behind each adapter of the examples. */
import type { RequestListener } from 'node:http';
import type { ErrorRequestHandler } from 'express';
import express from 'express';
import type { FastifyRequest } from 'fastify';
import { fastify } from 'fastify';
import { type Context, Hono } from 'hono';
import type { AdapterSetup } from 'keyscope/testing';
import { createGuard as expressGuard } from '../../examples/express/adapter.ts';
import { createGuard as fastifyGuard } from '../../examples/fastify/adapter.ts';
import { type Guarded, createGuard as honoGuard } from '../../examples/hono/adapter.ts';

export const CONTRACT_APPS = {
  express({ handle, ...options }: AdapterSetup): RequestListener {
    const app = express();
    const guard = expressGuard(options);
    const answer = (req: express.Request, res: express.Response) =>
      res.send(handle(req.principal, req.entityId));
    app.get('/whoami', guard('whoami'), answer);
    // As in the docs: `req.query` stops at 1,000 parameters.
    const entity = (req: express.Request) =>
      new URLSearchParams(req.url.match(/\?(.*)/)?.[1]).getAll('entity');
    app.get('/reports', guard('readReports', { entity }), answer);
    const onError: ErrorRequestHandler = (_error, _req, res, _next) => res.status(500).end();
    return app.use(onError);
  },

  async fastify({ handle, ...options }: AdapterSetup): Promise<RequestListener> {
    const app = fastify();
    const guard = fastifyGuard(options);
    const answer = async (request: FastifyRequest) => handle(request.principal, request.entityId);
    const entity = (request: FastifyRequest) => (request.query as { entity?: unknown }).entity;
    app.get('/whoami', { onRequest: guard('whoami') }, answer);
    app.get('/reports', { onRequest: guard('readReports', { entity }) }, answer);
    await app.ready();
    return (req, res) => app.routing(req, res);
  },

  hono({ handle, ...options }: AdapterSetup): Hono<Guarded> {
    const app = new Hono<Guarded>();
    const guard = honoGuard(options);
    const answer = (c: Context<Guarded>) => c.text(handle(c.get('principal'), c.get('entityId')));
    app.get('/whoami', guard('whoami'), answer);
    app.get('/reports', guard('readReports', { entity: (c) => c.req.queries('entity') }), answer);
    app.onError(() => new Response(null, { status: 500 }));
    return app;
  },
};
