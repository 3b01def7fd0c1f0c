/**
 * The key management endpoints, mounted in each framework as docs/admin.md shows, on real sockets.
 */
import { createServer, type RequestListener, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import Fastify from 'fastify';
import { Hono } from 'hono';
import type { KeyAdmin } from 'keyscope/admin';
import { close, listen } from '../examples/http-harness.ts';

/** Builds a server's listener from the endpoints. */
export type Mount = (admin: KeyAdmin) => Promise<RequestListener>;

export const MOUNTS: Readonly<Record<string, Mount>> = {
  async 'node:http'(admin) {
    return getRequestListener(admin);
  },
  async express(admin) {
    const app = express();
    app.all('/keys{/*path}', getRequestListener(admin));
    return app;
  },
  async 'express behind its parser'(admin) {
    const app = express();
    app.use(express.json());
    app.all('/keys{/*path}', (req, res) =>
      getRequestListener((request) => admin(request, { parsedBody: req.body }))(req, res),
    );
    return app;
  },
  async fastify(admin) {
    const app = Fastify();
    app.all('/keys*', (req, reply) => {
      reply.hijack();
      const answer = (request: Request) => admin(request, { parsedBody: req.body });
      return getRequestListener(answer)(req.raw, reply.raw);
    });
    await app.ready();
    return app.routing;
  },
  async hono(admin) {
    const app = new Hono();
    app.all('/keys/*', (c) => admin(c.req.raw));
    return getRequestListener(app.fetch);
  },
};

/** Mounted behind parsers that pass nothing on: what developers get if they skip the manual. */
export const FORGOTTEN: Readonly<Record<string, Mount>> = {
  async express(admin) {
    const app = express();
    app.use(express.json());
    app.all('/keys{/*path}', getRequestListener(admin));
    return app;
  },
  async fastify(admin) {
    const app = Fastify();
    app.all('/keys*', (req, reply) => {
      reply.hijack();
      return getRequestListener(admin)(req.raw, reply.raw);
    });
    await app.ready();
    return app.routing;
  },
  async hono(admin) {
    const app = new Hono();
    app.use(async (c, next) => {
      await c.req.text();
      await next();
    });
    app.all('/keys/*', (c) => admin(c.req.raw));
    return getRequestListener(app.fetch);
  },
};

/** Starts listening. Returns the origin and a function that stops the server. */
export async function serve(listener: RequestListener) {
  const server: Server = createServer(listener);
  const port = await listen(server);
  return { origin: `http://127.0.0.1:${port}`, stop: () => close(server) };
}
