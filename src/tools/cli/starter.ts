/** The files that `keyscope init` writes. Each runs both as TypeScript and as JavaScript. */
import { isBuiltin } from 'node:module';
import { readPackageFile } from './package-file.js';

/** A framework or a database, and the packages that reveal it. */
interface Part {
  readonly packages: readonly string[];
  /** The packages with its types, for TypeScript. */
  readonly types?: readonly string[];
  /** Import statements. */
  readonly imports: readonly string[];
}

/**
 * A framework, with an example app and the server that listens, which the lock does not load. Its
 * adapter is one of the package's examples.
 */
interface Framework extends Part {
  readonly app: string;
  readonly server: string;
  /** A line that the server needs in addition. */
  readonly serverImport?: string;
}

/** A database: how to open and close its client, and how `doctor` queries it. */
interface Database extends Part {
  /** The environment variable with its address, and an example of one. */
  readonly variable?: readonly [name: string, example: string];
  readonly open: string;
  readonly close: string;
  readonly sql?: string;
  /** The size of the client's pool, if it has one. */
  readonly connections?: number;
}

/** For any other framework: a config and a keyring, without a guard. */
const NO_FRAMEWORK: Framework = { packages: [], imports: [], app: '', server: '' };

/** By name. The first one is the default if package.json has none of them. */
export const FRAMEWORKS: Readonly<Record<string, Framework>> = {
  express: {
    packages: ['express'],
    types: ['@types/express'],
    imports: ["import express from 'express';"],
    app: `export const app = express();
app.get('/me', guard('whoami'), (req, res) => void res.json(toMe(req.principal)));
app.get('/reports', guard('listReports'), (req, res) => void res.json({ of: req.entityUuid }));`,
    server: `app.listen(port, () => console.log(\`http://127.0.0.1:\${port}\`));`,
  },
  fastify: {
    packages: ['fastify'],
    imports: ["import fastify from 'fastify';", "import { recordRoutes } from 'keyscope/lock';"],
    app: `export const app = fastify();
recordRoutes(app); // For keyscope lock, before the first route.
app.get('/me', { onRequest: guard('whoami') }, async (request) => toMe(request.principal));
app.get('/reports', { onRequest: guard('listReports') }, async (request) => ({
  of: request.entityUuid,
}));
await app.ready();`,
    server: `const address = await app.listen({ port });
console.log(address);`,
  },
  hono: {
    packages: ['hono', '@hono/node-server'],
    imports: ["import { Hono } from 'hono';"],
    app: `export const app = new Hono();
app.get('/me', guard('whoami'), (c) => c.json(toMe(c.get('principal'))));
app.get('/reports', guard('listReports'), (c) => c.json({ of: c.get('entityUuid') }));`,
    serverImport: "import { serve } from '@hono/node-server';\n",
    server: `serve({ fetch: app.fetch, port }, () => console.log(\`http://127.0.0.1:\${port}\`));`,
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
  types: ['@types/better-sqlite3'],
  imports: ["import Database from 'better-sqlite3';"],
  open: "new Database('keys.db')",
};

/** By name, as above. Connections have time limits, so that no command hangs. */
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
    open: `await createClient({
  url: address,
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
  files.set(`keyscope/app.${ending}`, appText(choice));
  files.set(`keyscope/server.${ending}`, serverText(choice));
  return files.set(`keyscope/adapter.${ending}`, readPackageFile(adapter));
}

/** Lets TypeScript accept the extension that Node needs, without a change to tsconfig.json. */
const ALLOW_EXTENSION = '// @ts-ignore: Node needs it. Or set allowImportingTsExtensions.\n';

/** Makes a relative import. */
function importOf(names: string, path: string, ending: Choice['ending']): string {
  const line = `import { ${names} } from '${path}.${ending}';`;
  return ending === 'mjs' ? line : ALLOW_EXTENSION + line;
}

/** Makes the first line of a file that uses globals of Node. */
function headOf(ending: Choice['ending']): string {
  return ending === 'mjs' ? '' : '/// <reference types="node" />\n';
}

/** The field for the lock: only `keyscope lock` loads the app. */
function routesText(ending: Choice['ending']): string {
  const ignore = ending === 'mjs' ? '' : `    ${ALLOW_EXTENSION}`;
  return `  policy,
  async routes() {
${ignore}    const { app } = await import('./keyscope/app.${ending}');
    return routesOf(app);
  },
`;
}

/** Without SQL, as on Redis, the store migrates by itself and the client stays private. */
function configText({ framework, database, ending }: Choice): string {
  const hasApp = FRAMEWORKS[framework] !== NO_FRAMEWORK;
  const { sql, connections } = DATABASES[database] ?? {};
  const query = `sql: { dialect: '${database}', query: async (sql) => ${sql} },`;
  const fields = [
    ...(sql === undefined ? [] : ['migrate: () => migrate(client),', query]),
    ...(connections === undefined ? [] : ['connections,']),
  ];
  const names = ['catalog', 'close', 'keyring', 'maxLifetimeMs', 'peppers', 'prefix', 'store'];
  if (sql !== undefined) names.push('client');
  if (connections !== undefined) names.push('connections');
  if (hasApp) names.push('policy');
  const lock = hasApp ? "\nimport { routesOf } from 'keyscope/lock';" : '';
  const migrate = `\nimport { migrate } from 'keyscope/stores/${database}';`;
  return `// Describes this service to the command keyscope.
import { defineConfig } from 'keyscope/cli';${lock}${sql === undefined ? '' : migrate}
${importOf(names.sort().join(', '), './keyscope/keyring', ending)}

export default defineConfig({
  keyring,
  store,
  catalog,
  peppers: peppers.map(({ id }) => id),
  prefixes: [prefix],
  maxLifetimeMs,
${fields.map((field) => `  ${field}\n`).join('')}${hasApp ? routesText(ending) : ''}  close,
});
`;
}

function keyringText({ database, prefix, ending }: Choice): string {
  const { imports = [], variable, open, close, sql, connections } = DATABASES[database] ?? {};
  const pool = connections === undefined ? '' : `export const connections = ${connections};\n`;
  return `${headOf(ending)}// The keys of this service. Choose its prefix, scopes and operations.
import { causeOf, createKeyring, definePolicy, defineScopes } from 'keyscope';
import { ${database}Store } from 'keyscope/stores/${database}';
${imports.join('\n')}

const pepper = process.env['PEPPER'] ?? '';
if (Buffer.byteLength(pepper) < 32) {
  throw new Error(
    'PEPPER is not set, or shorter than 32 bytes. If there are keys, use theirs. If not: ' +
      \`${PEPPER_COMMAND}\`,
  );
}
${variable === undefined ? '' : addressText(...variable)}
export const catalog = defineScopes({
  reports: { read: 'Read reports.', write: 'Write reports.' },
});
export const policy = definePolicy(catalog, { whoami: [], listReports: ['reports:read'] });

${pool}${sql === undefined ? '' : 'export '}const client = ${open};
export const close = () => ${close};
export const store = ${database}Store(client);
export const peppers = [{ id: 'first', secret: pepper }];
export const prefix = '${prefix}'; // Every key begins with it.
export const maxLifetimeMs = 366 * 86_400_000; // The longest life of a key.
export const keyring = createKeyring({
  prefix,
  deployment: '${prefix} production', // Choose it now: changing it later ends every key.
  catalog,
  store,
  peppers,
  maxLifetimeMs,
  onEvent: (event) => console.log(JSON.stringify(event)), // Your audit log. It has no secrets.
  onError: (error) => console.error(error, causeOf(error)), // The driver's error may quote rows.
});
`;
}

function addressText(name: string, example: string): string {
  return `const address = process.env['${name}'] ?? '';
if (address === '') {
  throw new Error('${name} is not set. Set it to the address of your database: ${example}');
}
`;
}

function appText({ framework, prefix, ending }: Choice): string {
  const { imports = [], app } = FRAMEWORKS[framework] ?? {};
  const typed = ending === 'mjs' ? '' : ': unknown';
  return `${headOf(ending)}// An example service. Each route has a guard.
${imports.join('\n')}
import { causeOf, toMe } from 'keyscope';
${importOf('createGuard', './adapter', ending)}
${importOf('keyring, policy', './keyring', ending)}

// If the store fails, clients get 503; the log says why.
const onOutage = (error${typed}) => console.error(error, causeOf(error));
const guard = createGuard({ keyring, policy, realm: '${prefix}', onOutage });

${app}
`;
}

function serverText({ framework, ending }: Choice): string {
  const { server, serverImport = '' } = FRAMEWORKS[framework] ?? {};
  return `${headOf(ending)}// Run it with: node keyscope/server.${ending}
${serverImport}${importOf('app', './app', ending)}
${importOf('close, keyring', './keyring', ending)}

const port = Number(process.env['PORT'] ?? 3000);
${server}
process.once('SIGTERM', async () => {
  await keyring.flush(); // Writes the last uses of keys.
  await close();
  process.exit();
});
`;
}
