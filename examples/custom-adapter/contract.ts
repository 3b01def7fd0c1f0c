/**
 * Runs the published contract on the adapter. Give your own adapter this test from the first day.
 * Run it with `node --test contract.ts` on Node 22.18 or newer, or with `npx tsx --test
 * contract.ts`. If you compile it with `rewriteRelativeImportExtensions`: `node --test
 * contract.js`.
 */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { ServeAdapter } from 'keyscope/testing';
import { adapterContract } from 'keyscope/testing';
import type { Handler } from './adapter.ts';
import { createGuard } from './adapter.ts';

const urlOf = (req: IncomingMessage) => new URL(req.url ?? '/', 'http://localhost');

const serve: ServeAdapter = async ({ handle, ...options }) => {
  const guard = createGuard(options);
  const answer: Handler = (_req, res, { principal, entityId }) =>
    res.end(handle(principal, entityId));
  const routes = {
    '/whoami': guard('whoami')(answer),
    '/reports': guard('readReports', { entity: (req) => urlOf(req).searchParams.getAll('entity') })(
      answer,
    ),
  };
  const server = createServer((req, res) => {
    const route = routes[urlOf(req).pathname as keyof typeof routes];
    route(req, res).catch(() => res.writeHead(500).end());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
};

adapterContract(test, serve);
