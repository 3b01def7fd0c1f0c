/**
 * Runs the published contract on the adapter: the test that your own adapter should have from the
 * first day. As it is: `node --test contract.ts` on Node 22.18 or newer, or `npx tsx --test
 * contract.ts`. Compiled by TypeScript with `rewriteRelativeImportExtensions`: `node --test
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
  const answer: Handler = (_req, res, { principal, entityUuid }) =>
    res.end(handle(principal, entityUuid));
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
