/**
 * The access lock of the platform. `keyscope.lock.json` next to this file is committed, and tests
 * compare every server with it. To update it, run `npx node examples/platform/lock.ts`.
 */
import { writeFileSync } from 'node:fs';
import { type AccessLock, formatLock, lockOf, routesOf, toolsOf } from 'keyscope/lock';
import { tools } from '../mcp/tools.ts';
import { policy } from './service/policy.ts';
import { routes } from './service/routes.ts';

/** The endpoints without a guard, each with the reason. */
const OPEN: Readonly<Record<string, string>> = {
  'GET /.well-known/jwks.json': 'the public keys of tokens',
  'GET /.well-known/oauth-protected-resource/mcp': 'what MCP clients read before they have a key',
  'GET /readyz': 'says only whether the service is ready',
  'GET /v1/openapi.json': 'the description of the interface',
  'POST /v1/token': 'exchanges the key that is sent, and checks it',
};

/** Returns the lock of a server. `app` is the framework's app, or a table of routes. */
export function lockOfPlatform(app: unknown): AccessLock {
  const open = routesOf(Object.fromEntries(Object.keys(OPEN).map((name) => [name, null])));
  const all = [
    ...routesOf(app),
    ...toolsOf({ keyring: { policy }, tools, operation: 'whoami' }),
    ...open,
  ];
  return lockOf({ keyring: { policy }, routes: all, reasons: OPEN });
}

if (import.meta.main) {
  const table = routes.map(({ method, path, operation }) => {
    return { method, path, operations: [operation] };
  });
  const file = new URL('keyscope.lock.json', import.meta.url);
  writeFileSync(file, formatLock(lockOfPlatform(table)));
}
