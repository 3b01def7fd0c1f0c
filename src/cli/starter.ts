/** The files that `keyscope init` writes. Each of them runs as TypeScript and as JavaScript. */
import { readPackageFile } from './package-file.js';

/** A framework or a database, and the packages by which it is recognised. */
interface Part {
  readonly packages: readonly string[];
  /** Lines that import what the code takes. */
  readonly imports: readonly string[];
}

/** A framework: its example route. Its adapter is one of the package's examples. */
interface Framework extends Part {
  readonly route: string;
}

/** A database: how its client is opened and closed, and how `doctor` asks it in SQL. */
interface Database extends Part {
  readonly open: string;
  readonly close: string;
  readonly sql?: string;
}

/** By name. The first one is taken where package.json has none. */
export const FRAMEWORKS: Readonly<Record<string, Framework>> = {
  express: {
    packages: ['express'],
    imports: ["import { Router } from 'express';"],
    route: `export const routes = Router();
routes.get('/me', guard('whoami'), (req, res) => void res.json(toMe(req.principal)));`,
  },
  fastify: {
    packages: ['fastify'],
    imports: ["import fastify from 'fastify';"],
    route: `export const app = fastify();
app.get('/me', { onRequest: guard('whoami') }, async (request) => toMe(request.principal));`,
  },
  hono: {
    packages: ['hono'],
    imports: ["import { Hono } from 'hono';"],
    route: `export const routes = new Hono();
routes.get('/me', guard('whoami'), (c) => c.json(toMe(c.get('principal'))));`,
  },
};

/** The same of databases. Connections are bounded in time, so that no command hangs. */
export const DATABASES: Readonly<Record<string, Database>> = {
  sqlite: {
    packages: [],
    imports: ["import { DatabaseSync } from 'node:sqlite'; // Node 20 has none: better-sqlite3"],
    open: "new DatabaseSync('keys.db')",
    close: 'client.close()',
    sql: 'client.prepare(sql).all()',
  },
  postgres: {
    packages: ['pg'],
    imports: ["import pg from 'pg';"],
    open: `new pg.Pool({
  connectionString: process.env['DATABASE_URL'],
  connectionTimeoutMillis: 2_000,
  statement_timeout: 4_000,
  query_timeout: 5_000,
}).on('error', console.error)`,
    close: 'client.end()',
    sql: '(await client.query(sql)).rows',
  },
  mysql: {
    packages: ['mysql2'],
    imports: ["import { createPool } from 'mysql2/promise';"],
    open: "createPool({ uri: process.env['DATABASE_URL'] ?? '', connectTimeout: 2_000 })",
    close: 'client.end()',
    sql: 'Object.values((await client.query(sql))[0])',
  },
  redis: {
    packages: ['redis'],
    imports: ["import { createClient } from 'redis';"],
    open: `await createClient({
  url: process.env['REDIS_URL'] ?? '',
  socket: { connectTimeout: 2_000, reconnectStrategy: false },
})
  .on('error', console.error)
  .connect()`,
    close: 'client.close()',
  },
};

/** What the files are made of. */
interface Choice {
  readonly framework: string;
  readonly database: string;
  /** Of keys: what they begin with. */
  readonly prefix: string;
  /** Of the files: `ts`, or `mjs` where nothing takes types off. */
  readonly ending: 'ts' | 'mjs';
}

/** The text of each file, by its path in the project. */
export function starterFiles(choice: Choice): ReadonlyMap<string, string> {
  const { framework, ending } = choice;
  return new Map([
    [`keyscope.config.${ending}`, configText(choice)],
    [`keyscope/keyring.${ending}`, keyringText(choice)],
    [`keyscope/routes.${ending}`, routesText(choice)],
    ['keyscope/adapter.ts', readPackageFile(`examples/${framework}/adapter.ts`)],
  ]);
}

function configText({ database, ending }: Choice): string {
  const { sql } = DATABASES[database] ?? {};
  const query = sql && `\n  sql: { dialect: '${database}', query: async (sql) => ${sql} },`;
  return `// What the command keyscope knows of this service.
import { defineConfig } from 'keyscope/cli';
import { migrate } from 'keyscope/stores/${database}';
import { catalog, client, close, keyring, peppers, store } from './keyscope/keyring.${ending}';

export default defineConfig({
  keyring,
  store,
  catalog,
  peppers: peppers.map(({ id }) => id),
  migrate: () => migrate(client),${query ?? ''}
  close,
});
`;
}

function keyringText({ database, prefix }: Choice): string {
  const { imports = [], open, close } = DATABASES[database] ?? {};
  return `// The keys of this service. Give it its own prefix, scopes and operations.
import { createKeyring, definePolicy, defineScopes } from 'keyscope';
import { ${database}Store } from 'keyscope/stores/${database}';
${imports.join('\n')}

export const catalog = defineScopes({ reports: { read: 'Read.', write: 'Write.' } });
export const policy = definePolicy(catalog, { whoami: [], listReports: ['reports:read'] });

// At least 32 bytes: node -p "crypto.randomBytes(32).toString('base64url')"
export const peppers = [{ id: 'first', secret: process.env['KEYSCOPE_PEPPER'] ?? '' }];

export const client = ${open};
export const close = () => ${close};
export const store = ${database}Store(client);
export const keyring = createKeyring({ prefix: '${prefix}', catalog, store, peppers });
`;
}

function routesText({ framework, prefix, ending }: Choice): string {
  const { imports = [], route } = FRAMEWORKS[framework] ?? {};
  return `// An example: GET /me tells a caller who it is. Put a guard on each route.
${imports.join('\n')}
import { toMe } from 'keyscope';
import { createGuard } from './adapter.ts';
import { keyring, policy } from './keyring.${ending}';

const guard = createGuard({ keyring, policy, realm: '${prefix}' });

${route}
`;
}
