/** A service in production: PostgreSQL, a pepper, a cache that learns of revocations, shutdown. */
import type { ErrorRequestHandler } from 'express';
import express from 'express';
import { causeOf, createKeyring, definePolicy, defineScopes, toMe } from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import { postgresInvalidation, postgresStore } from 'keyscope/stores/postgres';
import { LRUCache } from 'lru-cache';
import pg from 'pg';
import { createGuard } from '../express/adapter.ts';

const { DATABASE_URL: connectionString, PORT = '3000', PEPPER = '' } = process.env;
if (connectionString === undefined) throw new Error('DATABASE_URL is not set');
const log = (error: unknown): void => console.error(error, causeOf(error)); // May quote rows.

const pool = new pg.Pool({
  connectionString,
  connectionTimeoutMillis: 2_000,
  statement_timeout: 4_000,
  query_timeout: 5_000, // Without it, a query hangs forever if the server vanishes.
});
pool.on('error', ({ message }) => log(message)); // Without it, a lost connection ends the process.
const listening = { connectionString, keepAlive: true, connectionTimeoutMillis: 5_000 };
const store = cacheStore(postgresStore(pool), {
  cache: new LRUCache<string, object>({ max: 10_000 }),
  maxStalenessMs: 10_000, // At most this long until a revoked key is refused; usually milliseconds.
  invalidation: postgresInvalidation(() => new pg.Client(listening)),
  onError: log,
});

const catalog = defineScopes({ projects: { read: 'List and read projects.' } });
const policy = definePolicy(catalog, { whoami: [], listProjects: ['projects:read'] });
export const keyring = createKeyring({
  prefix: 'acme',
  deployment: 'acme production', // Set it once. Changing it ends every key.
  entityIds: 'text', // Ids of organizations, such as org_42. Leave it out if yours are UUIDs.
  policy,
  store,
  peppers: [{ id: '2026-11', secret: PEPPER }], // If PEPPER is missing, the service does not start.
  maxLifetimeMs: 366 * 86_400_000,
  onEvent: (event) => console.log(JSON.stringify(event)), // The audit log. It has no secrets.
  onError: log,
});

const guard = createGuard({ keyring, onError: log });
const app = express();
app.get('/me', guard('whoami'), (req, res) => void res.json(toMe(req.principal)));
app.get('/projects', guard('listProjects'), (req, res) => void res.json({ of: req.entityId }));
app.use(((error, _req, res, _next) => {
  log(error);
  res.status(500).end();
}) satisfies ErrorRequestHandler);
export const server = app.listen(Number(PORT));

process.once('SIGTERM', async () => {
  setTimeout(() => server.closeAllConnections(), 5_000).unref(); // Do not wait for idle clients.
  await new Promise((closed) => server.close(closed)); // Open requests need the store.
  await keyring.flush().catch(log); // Writes the last uses of keys.
  await pool.end();
  process.exit(); // The channel would keep listening.
});
