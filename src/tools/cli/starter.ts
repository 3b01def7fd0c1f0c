/** The files that `keyscope init` writes. Each runs both as TypeScript and as JavaScript. */
import { readPackageFile } from './package-file.js';
import { DATABASES, FRAMEWORKS, NO_FRAMEWORK } from './starter-parts.js';

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
  return `  async routes() {
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
  const names = ['close', 'keyring', 'maxLifetimeMs', 'peppers', 'store'];
  if (sql !== undefined) names.push('client');
  if (connections !== undefined) names.push('connections');
  const lock = hasApp ? "\nimport { routesOf } from 'keyscope/lock';" : '';
  const migrate = `\nimport { migrate } from 'keyscope/stores/${database}';`;
  return `// Describes this service to the command keyscope.
import { defineConfig } from 'keyscope/cli';${lock}${sql === undefined ? '' : migrate}
${importOf(names.sort().join(', '), './keyscope/keyring', ending)}

export default defineConfig({
  keyring,
  store,
  peppers: peppers.map(({ id }) => id),
  maxLifetimeMs,
${fields.map((field) => `  ${field}\n`).join('')}${hasApp ? routesText(ending) : ''}  close,
});
`;
}

function keyringText({ database, prefix, ending }: Choice): string {
  const { imports = [], variable, file, open, close, sql, connections } = DATABASES[database] ?? {};
  const own = file === undefined ? '' : ownFileText(file);
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
const catalog = defineScopes({
  projects: { read: 'Read projects.' },
  invoices: { read: 'Read invoices.', write: 'Write invoices.' },
});
const policy = definePolicy(catalog, {
  whoami: [],
  listProjects: ['projects:read'],
  listInvoices: ['invoices:read'],
});

${pool}${own}${sql === undefined ? '' : 'export '}const client = ${open};
export const close = () => ${close};
export const store = ${database}Store(client);
export const peppers = [{ id: 'first', secret: pepper }];
export const maxLifetimeMs = 366 * 86_400_000; // The longest life of a key.
export const keyring = createKeyring({
  prefix: '${prefix}', // Every key begins with it.
  deployment: '${prefix} production', // Choose it now: changing it later ends every key.
  policy,
  store,
  peppers,
  maxLifetimeMs,
  onEvent: (event) => console.log(JSON.stringify(event)), // Your audit log. It has no secrets.
  onError: (error) => console.error(error, causeOf(error)), // The driver's error may quote rows.
});
`;
}

/**
 * Creates the file before SQLite does, which would let everyone on the machine read it. SQLite
 * gives `-wal` and `-shm` the same mode. Does not open an existing file, because closing it would
 * release the locks of a handle in the same process.
 */
function ownFileText(file: string): string {
  return `// Only you can read the file. SQLite would let everyone on this machine.
if (!existsSync('${file}')) writeFileSync('${file}', '', { flag: 'a', mode: 0o600 });
`;
}

function addressText(name: string, example: string): string {
  return `const address = process.env['${name}'] ?? '';
if (address === '') {
  throw new Error('${name} is not set. Set it to the address of your database: ${example}');
}
`;
}

function appText({ framework, ending }: Choice): string {
  const { imports = [], app } = FRAMEWORKS[framework] ?? {};
  const typed = ending === 'mjs' ? '' : ': unknown';
  return `${headOf(ending)}// An example service. Each route has a guard.
${imports.join('\n')}
import { causeOf, toMe } from 'keyscope';
${importOf('createGuard', './adapter', ending)}
${importOf('keyring', './keyring', ending)}

// If the store fails, clients get 503; the log says why.
const onError = (error${typed}) => console.error(error, causeOf(error));
const guard = createGuard({ keyring, onError });

${app}
`;
}

function serverText({ framework, ending }: Choice): string {
  const { server, serverImport = '' } = FRAMEWORKS[framework] ?? {};
  return `${headOf(ending)}// Run it with: node keyscope/server.${ending}
${serverImport}${importOf('app', './app', ending)}
${importOf('close, keyring', './keyring', ending)}

const port = Number(process.env['PORT'] ?? 3000);
const host = '127.0.0.1'; // Only this machine. In a container: '0.0.0.0'.
${server}
process.once('SIGTERM', async () => {
  await keyring.flush(); // Writes the last uses of keys.
  await close();
  process.exit();
});
`;
}
