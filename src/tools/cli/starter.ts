/** The files that `keyscope init` writes. Each runs both as TypeScript and as JavaScript. */
import { isBuiltin } from 'node:module';
import { readPackageFile } from './package-file.js';

/** A framework or a database, and the packages that reveal it. */
interface Part {
  readonly packages: readonly string[];
  /** Import statements. */
  readonly imports: readonly string[];
}

/** A framework, with an example service. Its adapter is one of the package's examples. */
interface Framework extends Part {
  readonly service: string;
}

/** A database: how to open and close its client, and how `doctor` queries it. */
interface Database extends Part {
  /** The environment variable with its address. */
  readonly variable?: string;
  readonly open: string;
  readonly close: string;
  readonly sql?: string;
}

/** For any other framework: a config and a keyring, without a guard. */
const NO_FRAMEWORK: Framework = { packages: [], imports: [], service: '' };

/** By name. The first one is the default if package.json has none of them. */
export const FRAMEWORKS: Readonly<Record<string, Framework>> = {
  express: {
    packages: ['express'],
    imports: ["import express from 'express';"],
    service: `export const app = express();
app.get('/me', guard('whoami'), (req, res) => void res.json(toMe(req.principal)));
app.get('/reports', guard('listReports'), (req, res) => void res.json({ of: req.entityUuid }));
app.listen(port, () => console.log(\`http://127.0.0.1:\${port}\`));`,
  },
  fastify: {
    packages: ['fastify'],
    imports: ["import fastify from 'fastify';"],
    service: `export const app = fastify();
app.get('/me', { onRequest: guard('whoami') }, async (request) => toMe(request.principal));
app.get('/reports', { onRequest: guard('listReports') }, async (request) => ({
  of: request.entityUuid,
}));
console.log(await app.listen({ port }));`,
  },
  hono: {
    packages: ['hono', '@hono/node-server'],
    imports: ["import { serve } from '@hono/node-server';", "import { Hono } from 'hono';"],
    service: `export const app = new Hono();
app.get('/me', guard('whoami'), (c) => c.json(toMe(c.get('principal'))));
app.get('/reports', guard('listReports'), (c) => c.json({ of: c.get('entityUuid') }));
serve({ fetch: app.fetch, port }, () => console.log(\`http://127.0.0.1:\${port}\`));`,
  },
  none: NO_FRAMEWORK,
};

const SQLITE_OF_NODE: Database = {
  packages: [],
  imports: ["import { DatabaseSync } from 'node:sqlite';"],
  open: "new DatabaseSync('keys.db')",
  close: 'client.close()',
  sql: 'client.prepare(sql).all()',
};

/** For Node 20, which has no `node:sqlite`. */
const BETTER_SQLITE: Database = {
  ...SQLITE_OF_NODE,
  packages: ['better-sqlite3'],
  imports: ["import Database from 'better-sqlite3';"],
  open: "new Database('keys.db')",
};

/** By name, as above. Connections have time limits, so that no command hangs. */
export const DATABASES: Readonly<Record<string, Database>> = {
  sqlite: isBuiltin('node:sqlite') ? SQLITE_OF_NODE : BETTER_SQLITE,
  postgres: {
    packages: ['pg'],
    variable: 'DATABASE_URL',
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
    variable: 'DATABASE_URL',
    imports: ["import { createPool } from 'mysql2/promise';"],
    open: "createPool({ uri: process.env['DATABASE_URL'] ?? '', connectTimeout: 2_000 })",
    close: 'client.end()',
    sql: 'Object.values((await client.query(sql))[0])',
  },
  redis: {
    packages: ['redis'],
    variable: 'REDIS_URL',
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

/** Prints a new pepper. */
export const PEPPER_COMMAND = `node -p "crypto.randomBytes(32).toString('base64url')"`;

/** The choices that determine the files. */
interface Choice {
  readonly framework: string;
  readonly database: string;
  /** The prefix of keys. */
  readonly prefix: string;
  /** The extension of the files. */
  readonly ending: 'ts' | 'mts' | 'mjs';
}

/** Returns the text of each file by its path in the project. */
export function starterFiles(choice: Choice): ReadonlyMap<string, string> {
  const { framework, ending } = choice;
  const files = new Map([
    [`keyscope.config.${ending}`, configText(choice)],
    [`keyscope/keyring.${ending}`, keyringText(choice)],
  ]);
  if (FRAMEWORKS[framework] === NO_FRAMEWORK) return files;
  const adapter =
    ending === 'mjs' ? `dist/adapters/${framework}.js` : `examples/${framework}/adapter.ts`;
  files.set(`keyscope/server.${ending}`, serverText(choice));
  return files.set(`keyscope/adapter.${ending}`, readPackageFile(adapter));
}

function configText({ database, prefix, ending }: Choice): string {
  const { sql } = DATABASES[database] ?? {};
  const query = sql && `\n  sql: { dialect: '${database}', query: async (sql) => ${sql} },`;
  return `// Describes this service to the command keyscope.
import { defineConfig } from 'keyscope/cli';
import { migrate } from 'keyscope/stores/${database}';
import { catalog, client, close, keyring, peppers, store } from './keyscope/keyring.${ending}';

export default defineConfig({
  keyring,
  store,
  catalog,
  peppers: peppers.map(({ id }) => id),
  prefixes: ['${prefix}'],
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

// At least 32 bytes: ${PEPPER_COMMAND}
export const peppers = [{ id: 'first', secret: process.env['KEYSCOPE_PEPPER'] ?? '' }];

export const client = ${open};
export const close = () => ${close};
export const store = ${database}Store(client);
export const keyring = createKeyring({ prefix: '${prefix}', catalog, store, peppers });
`;
}

function serverText({ framework, prefix, ending }: Choice): string {
  const { imports = [], service } = FRAMEWORKS[framework] ?? {};
  return `// An example of a service: node keyscope/server.${ending}. Each route has a guard.
${imports.join('\n')}
import { toMe } from 'keyscope';
import { createGuard } from './adapter.${ending}';
import { keyring, policy } from './keyring.${ending}';

const guard = createGuard({ keyring, policy, realm: '${prefix}' });
const port = Number(process.env['PORT'] ?? 3000);

${service}
`;
}
