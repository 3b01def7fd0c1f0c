/** The leak endpoints in each framework, mounted as in docs/leaks.md, over sockets. */
import { createServer, type RequestListener } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import Fastify from 'fastify';
import { Hono } from 'hono';
import type { LeakHandler } from 'keyscope/leaks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issue } from '../support/keyring.ts';
import { type Listing, openListing, SIGNER, setUpLeaks } from '../support/leak-reports.ts';
import { close, listen } from './http-harness.ts';

type Mount = (leaks: LeakHandler) => Promise<RequestListener>;

const MOUNTS: Readonly<Record<string, Mount>> = {
  async 'node:http'(leaks) {
    return getRequestListener(leaks);
  },
  async 'express, before its parser'(leaks) {
    const app = express();
    app.all(
      '/leaks/*path',
      getRequestListener((request) => leaks(request)),
    );
    app.use(express.json());
    return app;
  },
  async 'fastify, in a scope without parsers'(leaks) {
    const app = Fastify();
    app.register(async (scope) => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
      scope.all('/leaks/*', (request, reply) => {
        reply.hijack();
        return getRequestListener((report) => leaks(report))(request.raw, reply.raw);
      });
    });
    await app.ready();
    return app.routing;
  },
  async hono(leaks) {
    const app = new Hono();
    app.all('/leaks/*', (c) => leaks(c.req.raw));
    return getRequestListener(app.fetch);
  },
};

/** Mounts that ignore the manual. */
const FORGOTTEN: Readonly<Record<string, Mount>> = {
  async express(leaks) {
    const app = express();
    app.use(express.json());
    app.all('/leaks/*path', getRequestListener(leaks));
    return app;
  },
  async fastify(leaks) {
    const app = Fastify();
    app.all('/leaks/*', (request, reply) => {
      reply.hijack();
      return getRequestListener(leaks)(request.raw, reply.raw);
    });
    await app.ready();
    return app.routing;
  },
};

let listing: Listing;
beforeAll(async () => {
  listing = await openListing([SIGNER.listed]);
});
afterAll(() => listing.close());

const LEAKED = { type: 'acme_key', url: '', source: 'content' };

/** Reports a key to a server, and returns the answer and the state of the key. */
async function report(mount: Mount) {
  const { leaks, keyring } = setUpLeaks({ github: listing.source, holder: {} });
  const { key } = await issue(keyring);
  const server = createServer(await mount(leaks));
  const url = `http://127.0.0.1:${await listen(server)}/leaks`;
  try {
    // With spaces that no parser would reproduce.
    const body = JSON.stringify([{ token: key, ...LEAKED }], null, 3);
    const headers = {
      'content-type': 'application/json',
      'github-public-key-identifier': SIGNER.listed.key_identifier,
      'github-public-key-signature': SIGNER.sign(body),
    };
    const signed = await fetch(`${url}/github`, { method: 'POST', headers, body });
    const said = await signed.text();
    const form = new URLSearchParams({ token: key });
    const held = await fetch(`${url}/revoke`, { method: 'POST', body: form });
    const isLive = await keyring.verify(key).then(
      () => true,
      () => false,
    );
    return { status: signed.status, said, held: held.status, isLive };
  } finally {
    await close(server);
  }
}

describe('a report over HTTP', () => {
  it.each(Object.entries(MOUNTS))('is read byte for byte on %s', async (_, mount) => {
    const { status, said, held, isLive } = await report(mount);
    expect({ status, held, isLive }).toEqual({ status: 200, held: 200, isLive: false });
    expect(said).toContain('true_positive');
  });

  it.each(Object.entries(FORGOTTEN))(
    'causes an error that says why behind a parser on %s',
    async (_, mount) => {
      const { status, said } = await report(mount);
      expect(status).toBe(500);
      expect(said).toContain('mount the handler before the parser');
    },
  );
});
