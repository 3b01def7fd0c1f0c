/** The frameworks and the databases that `keyscope init` knows. */
import { isBuiltin } from 'node:module';

/** A framework or a database, and the packages that reveal it. */
interface Part {
  readonly packages: readonly string[];
  /** The packages with its types, for TypeScript. */
  readonly types?: readonly string[];
  /** Import statements. */
  readonly imports?: readonly string[];
}

/** A framework. */
interface Framework extends Part {
  /** The folder of its adapter in `examples`. */
  readonly adapter?: string;
  /** An example app. Without it, `init` writes only a config and a keyring. */
  readonly app?: string;
  /** The server that listens, which the lock does not load. */
  readonly server?: string;
  /** A line that the server needs in addition. */
  readonly serverImport?: string;
}

/** A database: how to open and close its client, and how `doctor` queries it. */
interface Database extends Part {
  /** The environment variable with its address, and an example of one. */
  readonly variable?: readonly [name: string, example: string];
  readonly open: string;
  /** A statement that waits for the connection, if the client does not connect by itself. */
  readonly connect?: string;
  readonly close: string;
  /** The file with the keys, if the database is one. */
  readonly file?: string;
  readonly sql?: string;
  /** The size of the client's pool, if it has one. */
  readonly connections?: number;
}

/**
 * By name. A project may have several: the first one whose first package it has is the one whose
 * routes it declares.
 */
export const FRAMEWORKS: Readonly<Record<string, Framework>> = {
  nest: {
    packages: ['@nestjs/core', '@nestjs/common'],
    imports: [
      "import { Controller, Get, Module, Req, UseGuards } from '@nestjs/common';",
      "import type { OnApplicationShutdown } from '@nestjs/common';",
    ],
    adapter: 'more/nest',
    app: `@Controller()
class ExampleController {
  @Get('me')
  @UseGuards(guard('whoami'))
  me(@Req() request: Guarded) {
    return toMe(request.principal);
  }

  @Get('projects')
  @UseGuards(guard('listProjects'))
  projects(@Req() request: Guarded) {
    return { of: request.entityId };
  }

  @Get('invoices')
  @UseGuards(guard('listInvoices'))
  invoices(@Req() request: Guarded) {
    return { of: request.entityId };
  }
}

@Module({ controllers: [ExampleController] })
export class KeyscopeModule implements OnApplicationShutdown {
  async onApplicationShutdown() {
    await keyring.flush(); // Writes the last uses of keys.
    await close();
  }
}`,
  },
  trpc: { packages: ['@trpc/server'], adapter: 'more/trpc' },
  next: { packages: ['next'], adapter: 'more/fetch' },
  koa: { packages: ['koa'], adapter: 'more/koa' },
  elysia: { packages: ['elysia'], adapter: 'more/elysia' },
  express: {
    packages: ['express'],
    adapter: 'express',
    types: ['@types/express'],
    imports: ["import express from 'express';"],
    app: `export const app = express();
app.get('/me', guard('whoami'), (req, res) => void res.json(toMe(req.principal)));
app.get('/projects', guard('listProjects'), (req, res) => void res.json({ of: req.entityId }));
app.get('/invoices', guard('listInvoices'), (req, res) => void res.json({ of: req.entityId }));`,
    server: `const server = app.listen(port, host);
server.on('listening', () => console.log(\`http://\${host}:\${port}\`));`,
  },
  fastify: {
    packages: ['fastify'],
    adapter: 'fastify',
    imports: ["import fastify from 'fastify';", "import { recordRoutes } from 'keyscope/lock';"],
    app: `export const app = fastify();
recordRoutes(app); // For keyscope lock, before the first route.
app.get('/me', { onRequest: guard('whoami') }, async (request) => toMe(request.principal));
app.get('/projects', { onRequest: guard('listProjects') }, async (request) => ({
  of: request.entityId,
}));
app.get('/invoices', { onRequest: guard('listInvoices') }, async (request) => ({
  of: request.entityId,
}));
await app.ready();`,
    server: `const address = await app.listen({ port, host });
console.log(address);`,
  },
  hono: {
    packages: ['hono', '@hono/node-server'],
    adapter: 'hono',
    imports: ["import { Hono } from 'hono';"],
    app: `export const app = new Hono();
app.get('/me', guard('whoami'), (c) => c.json(toMe(c.get('principal'))));
app.get('/projects', guard('listProjects'), (c) => c.json({ of: c.get('entityId') }));
app.get('/invoices', guard('listInvoices'), (c) => c.json({ of: c.get('entityId') }));`,
    serverImport: "import { serve } from '@hono/node-server';\n",
    server: `const at = { port, hostname: host };
serve({ fetch: app.fetch, ...at }, () => console.log(\`http://\${host}:\${port}\`));`,
  },
  none: { packages: [] },
};

const MAKE_FILE = "import { existsSync, writeFileSync } from 'node:fs';";

const SQLITE_OF_NODE: Database = {
  packages: [],
  imports: [MAKE_FILE, "import { DatabaseSync } from 'node:sqlite';"],
  file: 'keys.db',
  open: "new DatabaseSync('keys.db')",
  close: 'client.close()',
  sql: 'client.prepare(sql).all()',
};

/** For Node 20, which has no `node:sqlite`. */
const BETTER_SQLITE: Database = {
  ...SQLITE_OF_NODE,
  packages: ['better-sqlite3'],
  types: ['@types/better-sqlite3'],
  imports: [MAKE_FILE, "import Database from 'better-sqlite3';"],
  open: "new Database('keys.db')",
};

/** By name. Connections have time limits, so that no command hangs. */
export const DATABASES: Readonly<Record<string, Database>> = {
  sqlite: isBuiltin('node:sqlite') ? SQLITE_OF_NODE : BETTER_SQLITE,
  postgres: {
    packages: ['pg'],
    types: ['@types/pg'],
    variable: ['DATABASE_URL', 'postgres://localhost:5432/app'],
    imports: ["import pg from 'pg';"],
    open: `new pg.Pool({
  connectionString: address,
  max: connections,
  connectionTimeoutMillis: 2_000,
  statement_timeout: 4_000,
  query_timeout: 5_000, // Otherwise a query on a dead connection never ends.
});
// Otherwise a lost connection ends the process.
client.on('error', ({ message }) => console.error(message))`,
    close: 'client.end()',
    sql: '(await client.query(sql)).rows',
    connections: 10,
  },
  mysql: {
    packages: ['mysql2'],
    variable: ['DATABASE_URL', 'mysql://localhost:3306/app'],
    imports: ["import { createPool } from 'mysql2/promise';"],
    open: 'createPool({ uri: address, connectionLimit: connections, connectTimeout: 2_000 })',
    close: 'client.end()',
    sql: 'Object.values((await client.query(sql))[0])',
    connections: 10,
  },
  redis: {
    packages: ['redis'],
    variable: ['REDIS_URL', 'redis://localhost:6379'],
    imports: ["import { createClient } from 'redis';"],
    open: `createClient({ url: address, socket: { connectTimeout: 2_000 } })
  .on('error', ({ message }) => console.error(message))`,
    connect: 'await client.connect();\n',
    close: 'client.close()',
  },
};
