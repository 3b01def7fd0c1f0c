/**
 * The uses of drivers' and frameworks' own types that must compile, with this project's TypeScript
 * and with the oldest supported one: `npm run test:package` compiles this file against the built
 * package. It never runs.
 */
import { DatabaseSync } from 'node:sqlite';
import { PGlite } from '@electric-sql/pglite';
import { getRequestListener } from '@hono/node-server';
import Database from 'better-sqlite3';
import express from 'express';
import Fastify from 'fastify';
import { Hono } from 'hono';
import { Redis } from 'ioredis';
import { createKeyring, definePolicy, defineScopes } from 'keyscope';
import { createKeyAdmin } from 'keyscope/admin';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { mysqlStore } from 'keyscope/stores/mysql';
import { postgresInvalidation, postgresStore } from 'keyscope/stores/postgres';
import { redisInvalidation, redisStore } from 'keyscope/stores/redis';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { LRUCache } from 'lru-cache';
import mariadb from 'mariadb';
import mysql from 'mysql2/promise';
import pg from 'pg';
import postgres from 'postgres';
import { createClient, createCluster, createSentinel } from 'redis';
import { createGuard as expressGuard } from '../examples/express/adapter.ts';
import { createGuard as fastifyGuard } from '../examples/fastify/adapter.ts';
import { type Guarded, createGuard as honoGuard } from '../examples/hono/adapter.ts';

// Before TypeScript 6, better-sqlite3's `prepare` returned a union that rejected null.
export const sqlite = [
  sqliteStore(new DatabaseSync('keys.db')),
  sqliteStore(new Database('keys.db')),
];
export const postgresql = [
  postgresStore(new pg.Pool()),
  postgresStore(new pg.Client()),
  postgresStore(postgres()),
  postgresStore(new PGlite()),
];
export const mysqls = [mysqlStore(mysql.createPool({})), mysqlStore(mariadb.createPool({}))];
export const redises = [
  redisStore(createClient()),
  redisStore(createCluster({ rootNodes: [] })),
  redisStore(createSentinel({ name: 'keys', sentinelRootNodes: [] })),
  redisStore(new Redis()),
];
const store = cacheStore(memoryStore(), {
  cache: new LRUCache<string, object>({ max: 10_000 }),
  maxStalenessMs: 10_000,
  invalidation: postgresInvalidation(() => new pg.Client()),
});
export const channel = redisInvalidation({ publisher: createClient(), subscriber: new Redis() });

const catalog = defineScopes({
  threats: { read: 'Read threats.' },
  users: { delete: 'Delete users.' },
});
const policy = definePolicy(catalog, { listThreats: ['threats:read'] });
const keyring = createKeyring({ prefix: 'acme', policy, store, peppers: 'none' });
const options = { keyring };

// A guard leaves the types of a route's own parameters alone. Express's were once widened to
// `string | string[]`.
express().get('/threats/:id', expressGuard(options)('listThreats'), (req, res) => {
  const { id }: { readonly id: string } = req.params;
  res.json({ id, entity: req.entityId, key: req.principal.keyId });
});
// HTTP/2 has its own request and response types.
const fastify = {
  onRequest: fastifyGuard(options)('listThreats', { entity: ({ headers }) => headers['x-entity'] }),
};
Fastify().get('/threats', fastify, (request) => request.principal.keyId);
Fastify({ http2: true }).get('/threats', fastify, (request) => request.principal.keyId);
Fastify({ http2: true, https: {} }).get('/threats', fastify, (request) => request.principal.keyId);
new Hono<Guarded>().get('/threats/:id', honoGuard(options)('listThreats'), (c) => {
  const id: string = c.req.param('id');
  return c.json({ id, entity: c.get('entityId') });
});

// Each framework accepts the key management endpoints as a handler.
const authorityOf = () => ({ entityId: '0192f0c1-7a44-7cc3-9d5e-2b8f6a1c4e70', scopes: [] });
const admin = createKeyAdmin({ keyring, authorityOf });
express().all('/keys{/*path}', getRequestListener(admin));
Fastify().all('/keys*', ({ raw }, reply) => getRequestListener(admin)(raw, reply.raw));
new Hono().all('/keys/*', (c) => admin(c.req.raw));
export const fetchHandler: { fetch(request: Request, env: { BINDING: string }): unknown } = {
  fetch: admin,
};
