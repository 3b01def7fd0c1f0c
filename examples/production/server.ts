/** A service in production: PostgreSQL, a pepper, a cache that hears of revocations, a shutdown. */
import type { ErrorRequestHandler } from 'express';
import express from 'express';
import { causeOf, createKeyring, definePolicy, defineScopes, toMe } from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import { postgresInvalidation, postgresStore } from 'keyscope/stores/postgres';
import { LRUCache } from 'lru-cache';
import pg from 'pg';
import { createGuard } from '../express/adapter.ts';

const { DATABASE_URL: connectionString, PORT = '3000', PEPPER = '' } = process.env;
// With the driver's own error, which may quote rows: to a log that operators alone read.
const log = (error: unknown): void => console.error(error, causeOf(error));

const pool = new pg.Pool({
  connectionString,
  connectionTimeoutMillis: 2_000,
  statement_timeout: 4_000,
  query_timeout: 5_000, // Without it, a connection whose other side has vanished hangs for ever.
});
pool.on('error', ({ message }) => log(message)); // Unheard, a lost connection ends the process.

const listening = { connectionString, keepAlive: true, connectionTimeoutMillis: 5_000 };
const store = cacheStore(postgresStore(pool), {
  cache: new LRUCache<string, object>({ max: 10_000 }),
  maxStalenessMs: 10_000, // A revoked key is refused within this, and in milliseconds as a rule.
  invalidation: postgresInvalidation(() => new pg.Client(listening)),
  onError: log,
});

const catalog = defineScopes({ threats: { read: 'List and read threats.' } });
const policy = definePolicy(catalog, { whoami: [], listThreats: ['threats:read'] });
export const keyring = createKeyring({
  prefix: 'acme',
  deployment: 'acme production', // Chosen once: another name ends every key.
  catalog,
  store,
  peppers: [{ id: '2026-11', secret: PEPPER }], // Too short where it is missing: refused at start.
  maxLifetimeMs: 366 * 86_400_000,
  onEvent: (event) => console.log(JSON.stringify(event)), // The audit log; nothing in it is secret.
  onError: log,
});

const guard = createGuard({ keyring, policy, realm: 'acme', onOutage: log });
const app = express();
app.get('/me', guard('whoami'), (req, res) => void res.json(toMe(req.principal)));
app.get('/threats', guard('listThreats'), (req, res) => void res.json({ of: req.entityUuid }));
app.use(((error, _req, res, _next) => {
  log(error);
  res.status(500).end();
}) satisfies ErrorRequestHandler);
export const server = app.listen(Number(PORT));

process.once('SIGTERM', async () => {
  setTimeout(() => server.closeAllConnections(), 5_000).unref(); // Idle clients delay no shutdown.
  await new Promise((closed) => server.close(closed)); // Requests under way still need the store.
  await keyring.flush().catch(log); // The last uses of keys.
  await pool.end();
  process.exit(); // The channel listens until the end.
});
