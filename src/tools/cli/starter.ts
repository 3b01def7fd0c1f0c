/**
 * The files that `keyscope init` writes. Each runs both as TypeScript and as JavaScript, except
 * those for Nest, whose decorators only a compiler understands.
 */
import { readPackageFile } from './package-file.js';
import { DATABASES, FRAMEWORKS } from './starter-parts.js';

/** Prints a new pepper. */
export const PEPPER_COMMAND = `node -p "crypto.randomBytes(32).toString('base64url')"`;

/** Its files are in `src`, which it compiles, in the module system of the project. */
export const NEST = 'nest';

/** How relative imports end. Only CommonJS finds a file without an extension. */
export type Ending = '.ts' | '.mts' | '.mjs' | '.js' | '';

/** The choices that determine the files. */
interface Choice {
  readonly framework: string;
  readonly database: string;
  /** The prefix of keys. */
  readonly prefix: string;
  readonly ending: Ending;
}

/** Returns the text of each file by its path in the project. */
export function starterFiles(choice: Choice): ReadonlyMap<string, string> {
  const { framework, ending } = choice;
  const { adapter, app } = FRAMEWORKS[framework] ?? {};
  const copied =
    ending === '.mjs' ? `dist/adapters/${adapter}.js` : `examples/${adapter}/adapter.ts`;
  if (framework === NEST) {
    return new Map([
      ['keyscope.config.mjs', configText(choice)],
      ['src/keyscope/keyring.ts', keyringText(choice)],
      ['src/keyscope/keyscope.module.ts', appText(choice)],
      ['src/keyscope/adapter.ts', readPackageFile(copied)],
    ]);
  }
  const files = new Map([
    [`keyscope.config${ending}`, configText(choice)],
    [`keyscope/keyring${ending}`, keyringText(choice)],
  ]);
  if (app === undefined) return files;
  files.set(`keyscope/app${ending}`, appText(choice));
  files.set(`keyscope/server${ending}`, serverText(choice));
  return files.set(`keyscope/adapter${ending}`, readPackageFile(copied));
}

/** Lets TypeScript accept the extension that Node needs, without a change to tsconfig.json. */
const ALLOW_EXTENSION = '// @ts-ignore: Node needs it. Or set allowImportingTsExtensions.\n';

/** Makes a relative import. */
function importOf(names: string, path: string, ending: Ending, word = 'import'): string {
  const line = `${word} { ${names} } from '${path}${ending}';`;
  return ending.endsWith('ts') ? ALLOW_EXTENSION + line : line;
}

/** Makes the first line of a file that uses globals of Node. */
function headOf(ending: Ending): string {
  return ending === '.mjs' ? '' : '/// <reference types="node" />\n';
}

/** The field for the lock, which alone loads the app. It cannot list the routes of Nest. */
function routesText({ framework, ending }: Choice): string {
  if (FRAMEWORKS[framework]?.server === undefined) return '';
  const ignore = ending === '.mjs' ? '' : `    ${ALLOW_EXTENSION}`;
  return `  async routes() {
${ignore}    const { app } = await import('./keyscope/app${ending}');
    return routesOf(app);
  },
`;
}

/** Without SQL, as on Redis, the store migrates by itself and the client stays private. */
function configText(choice: Choice): string {
  const { framework, database, ending } = choice;
  const { sql, connections } = DATABASES[database] ?? {};
  const query = `sql: { dialect: '${database}', query: async (sql) => ${sql} },`;
  const fields = [
    ...(sql === undefined ? [] : ['migrate: () => migrate(client),', query]),
    ...(connections === undefined ? [] : ['connections,']),
  ];
  const names = ['close', 'keyring', 'maxLifetimeMs', 'peppers', 'store'];
  if (sql !== undefined) names.push('client');
  if (connections !== undefined) names.push('connections');
  const parts = names.sort().join(', ');
  const keyring =
    framework === NEST
      ? `// Compiled by \`npm run build\`.\n${importOf(parts, './dist/keyscope/keyring', '.js')}`
      : importOf(parts, './keyscope/keyring', ending);
  const routes = routesText(choice);
  const lock = routes === '' ? '' : "\nimport { routesOf } from 'keyscope/lock';";
  const migrate = `\nimport { migrate } from 'keyscope/stores/${database}';`;
  return `// Describes this service to the command keyscope.
import { defineConfig } from 'keyscope/cli';${lock}${sql === undefined ? '' : migrate}
${keyring}

export default defineConfig({
  keyring,
  store,
  peppers: peppers.map(({ id }) => id),
  maxLifetimeMs,
${fields.map((field) => `  ${field}\n`).join('')}${routes}  close,
});
`;
}

const DOMAIN = `const catalog = defineScopes({
  projects: { read: 'Read projects.' },
  invoices: { read: 'Read invoices.', write: 'Write invoices.' },
});
const policy = definePolicy(catalog, {
  whoami: [],
  listProjects: ['projects:read'],
  listInvoices: ['invoices:read'],
});
`;

function keyringText({ database, prefix, ending }: Choice): string {
  const { imports = [], variable, file, sql, connections } = DATABASES[database] ?? {};
  const { open, connect = '', close } = DATABASES[database] ?? {};
  // CommonJS cannot wait for it. If it fails, the process ends, as it would otherwise.
  const connected = ending === '' ? connect.replace('await', 'void') : connect;
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
${DOMAIN}
${pool}${own}${sql === undefined ? '' : 'export '}const client = ${open};
${connected}export const close = () => ${close};
export const store = ${database}Store(client);
export const peppers = [{ id: 'first', secret: pepper }];
export const maxLifetimeMs = 366 * 86_400_000; // The longest life of a key.
export const keyring = createKeyring({
  prefix: '${prefix}', // Every key begins with it.
  deployment: '${prefix} production', // Choose it now: changing it later ends every key.
  policy,
  store,
  peppers,
  entityIds: 'text', // The ids of your organizations. Leave it out if they are UUIDs.
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

function appText(choice: Choice): string {
  const { framework, ending } = choice;
  const { imports = [], app } = FRAMEWORKS[framework] ?? {};
  const typed = ending === '.mjs' ? '' : ': unknown';
  const isNest = framework === NEST;
  // Compilers of decorators want the types apart.
  const request = isNest ? `${importOf('Guarded', './adapter', ending, 'import type')}\n` : '';
  return `${headOf(ending)}// An example service. Each route has a guard.
${imports.join('\n')}
import { causeOf, toMe } from 'keyscope';
${importOf('createGuard', './adapter', ending)}
${request}${importOf(isNest ? 'close, keyring' : 'keyring', './keyring', ending)}

// If the store fails, clients get 503; the log says why.
const onError = (error${typed}) => console.error(error, causeOf(error));
const guard = createGuard({ keyring, onError });

${app}
`;
}

function serverText({ framework, ending }: Choice): string {
  const { server, serverImport = '' } = FRAMEWORKS[framework] ?? {};
  return `${headOf(ending)}// Run it with: node keyscope/server${ending}
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
