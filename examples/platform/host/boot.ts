/**
 * Assembles the platform, on one SQLite file unless told otherwise: for the demo and for single
 * servers.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import type { Server } from 'node:http';
import { isAbsolute, join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ParseArgsOptionsConfig } from 'node:util';
import { parseArgs } from 'node:util';
import type { Keyring, Pepper } from 'keyscope';
import { createKeyring } from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import { LRUCache } from 'lru-cache';
import { catalog } from '../service/catalog.ts';
import type { Domain } from '../service/domain.ts';
import { createDomain } from '../service/domain.ts';
import { explain } from '../service/problem.ts';
import type { Accounts } from './accounts.ts';
import { createAccounts } from './accounts.ts';
import { hold, listen, readPort, stop, whyNot } from './listen.ts';
import type { OpenedStore, Place } from './open-store.ts';
import { ADDRESSES, openStore, placeOf } from './open-store.ts';
import { readSecret } from './secret-file.ts';
import type { Tokens } from './tokens.ts';
import { audiences, openTokens } from './tokens.ts';

export { listen, stop } from './listen.ts';

export const PREFIX = 'lure';
/** The organization that the demo's keys belong to, and one that they cannot address. */
export const ENTITY = '11111111-1111-4111-8111-111111111111';
export const OTHER_ENTITY = '22222222-2222-4222-8222-222222222222';

export interface Platform {
  readonly keyring: Keyring<typeof catalog>;
  /** For MCP. */
  readonly mcpKeyring: Keyring<typeof catalog>;
  readonly tokens: Tokens;
  readonly publicUrl: string;
  readonly domain: Domain;
  readonly accounts: Accounts;
  /** Milliseconds since the epoch, for the whole platform. */
  readonly now: () => number;
  /** Where the service's own rows are. */
  readonly file: string;
  /** Where the keys' digests are. */
  readonly keys: Place;
  /** Where the pepper came from, to tell whoever starts the platform. */
  readonly pepper: string;
  /** Writes what is still in memory and closes the file. */
  close(): Promise<void>;
}

/**
 * A secret kept beside the database, not in it. From the environment, as in production; or, so that
 * newcomers need no setup, from a file made on the first run. With both, keys made under either
 * keep working.
 */
async function readPeppers(folder: string): Promise<{ peppers: Pepper[]; source: string }> {
  const file = join(folder, 'pepper');
  const { KEYSCOPE_PEPPER: given } = process.env;
  const generate = () => randomBytes(32).toString('base64url');
  const peppers = given ? [{ id: 'env', secret: given }] : [];
  if (!given || existsSync(file))
    peppers.push({ id: 'file', secret: await readSecret(file, generate) });
  const older = existsSync(file) ? `, and ${shown(file)} for keys that it made` : '';
  return {
    peppers,
    source: given ? `the environment variable KEYSCOPE_PEPPER${older}` : shown(file),
  };
}

/** A path as one would type it here. */
export const shown = (path: string): string => relative(process.cwd(), path) || '.';

export interface PlatformOptions {
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /**
   * Where the keys are, as accepted by `openStore`. Default: the folder's SQLite file, with the
   * service's rows.
   */
  readonly store?: string | undefined;
  /** How clients reach the service. Default: `http://127.0.0.1:8787`. */
  readonly publicUrl?: string;
}

/**
 * How long a key that another process revoked may still work here, unless a channel tells of it
 * sooner.
 */
export const MAX_STALENESS_MS = 5_000;

/** A server's look-ups are cached, so that most requests need no database. */
async function openKeys(address: string): Promise<OpenedStore> {
  const opened = await openStore(address);
  if (address.startsWith('sqlite:')) return opened;
  const { store, invalidation } = opened;
  const cache = new LRUCache<string, object>({ max: 10_000 });
  const options = {
    cache,
    maxStalenessMs: MAX_STALENESS_MS,
    ...(invalidation && { invalidation }),
  };
  return { ...opened, store: cacheStore(store, options) };
}

export async function openPlatform(
  folder: string,
  options: PlatformOptions = {},
): Promise<Platform> {
  const file = join(folder, 'platform.db');
  const {
    now = Date.now,
    store: address = `sqlite:${file}`,
    publicUrl = 'http://127.0.0.1:8787',
  } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { peppers, source } = await readPeppers(folder);
  const tokens = await openTokens(folder, publicUrl, now);
  // Two handles on one file: the keys' writes are never part of the service's transactions.
  const keys = await openKeys(address);
  try {
    const { rest, mcp } = audiences(publicUrl);
    const keyringFor = (audience: string) =>
      createKeyring({
        prefix: PREFIX,
        catalog,
        store: keys.store,
        peppers,
        now,
        tokens: tokens.verifiers[audience],
      });
    // One store with two doors: a token made for one does not open the other. Keys open both.
    const [keyring, mcpKeyring] = [keyringFor(rest), keyringFor(mcp)];
    const rows = new DatabaseSync(file, { timeout: 5_000 });
    const domain = createDomain(rows, { now });
    for (const entity of [ENTITY, OTHER_ENTITY]) domain.seed(entity);
    const accounts = createAccounts(rows, domain);
    const close = async () => {
      try {
        await Promise.all([keyring.flush(), mcpKeyring.flush()]);
      } finally {
        await keys.close();
        rows.close();
      }
    };
    const places = { file, keys: placeOf(address), pepper: source };
    return { keyring, mcpKeyring, tokens, publicUrl, domain, accounts, now, ...places, close };
  } catch (error) {
    await keys.close();
    throw error;
  }
}

const SCOPES = [
  'threats:read',
  'interactions:read',
  'decoys:read',
  'canaries:read',
  'reports:read',
] as const;

/** Whether the folder contains all of the service's data. */
function isWhole({ keys }: Pick<Platform, 'keys'>, folder: string): boolean {
  if (keys.kind !== 'file') return false;
  const path = relative(folder, keys.path);
  return !isAbsolute(path) && !path.startsWith('..');
}

/**
 * What is stored where, for whoever has just started the service. Starting afresh is offered only
 * if keys and pepper are deleted together: keys that stay in a database without their pepper no
 * longer work.
 */
export function whereabouts(
  platform: Pick<Platform, 'file' | 'keys' | 'pepper'>,
  folder: string,
): string {
  const { file, keys, pepper } = platform;
  const stop = 'Stop: Ctrl-C';
  if (keys.kind === 'memory')
    return `Keys: in memory, until it stops. The service's own rows: ${shown(file)}. Pepper: ${pepper}.\n${stop}`;
  const [where, rows] = [keys.kind === 'file' ? shown(keys.path) : keys.name, shown(file)];
  const database =
    where === rows ? `Database: ${rows}` : `Rows of the service: ${rows}. Keys: ${where}`;
  const lines = `${database} (digests of keys, never keys). Pepper: ${pepper}.\n`;
  if (isWhole(platform, folder)) return `${lines}${stop}. Start afresh: rm -r ${shown(folder)}`;
  return `${lines}Keep the pepper: without it none of these keys works any more, wherever they are.\n${stop}`;
}

/**
 * Makes a key if the entity has none, and says what to do with it; on later runs, says that it was
 * shown.
 */
async function firstKey(platform: Platform, url: string, folder: string): Promise<string> {
  const { keyring } = platform;
  const authority = { entityUuid: ENTITY };
  const { keys } = await keyring.list({ limit: 1 }, authority);
  if (keys.length > 0) {
    const another = isWhole(platform, folder)
      ? `Afresh: rm -r ${shown(folder)}`
      : 'Others are made in the console of npm run demo';
    return `The key was shown on the first run and cannot be shown again. ${another}`;
  }
  const input = { name: 'Demo', scopes: SCOPES, expiresAt: 'never' } as const;
  const { key } = await keyring.issue(input, authority);
  return `Your key, shown this once (${SCOPES.join(' ')}):

  export KEY=${key}

Try:

  curl -i -H "Authorization: Bearer $KEY" ${url}/me
      200: the key's entity, id, scopes and the entities that it can address

  curl -i -H "Authorization: Bearer $KEY" "${url}/threats?limit=2"
      200: two threats, and "next" for the page after

  curl -i -H "Authorization: Bearer $KEY" ${url}/users
      403: insufficient_scope, and which scope is missing: users:read`;
}

const HELP = `
  --store <address>  keep the keys there: ${ADDRESSES}
  --help             print this

The environment variables PORT (8787) and PUBLIC_URL, how clients reach the service, are read as well.`;

interface Arguments {
  readonly store?: string;
  readonly check?: boolean;
  readonly instance?: string;
}

/**
 * Reads the command line. If it asks for help, or has unknown arguments, prints the usage and
 * returns `null`: nothing is to be started. It does not repeat what was written, because an address
 * may contain a password.
 *
 * @param own Flags accepted in addition to `--store` and `--help`.
 */
export function readArguments(
  usage: string,
  own: ParseArgsOptionsConfig = {},
  args: readonly string[] = process.argv.slice(2),
): Arguments | null {
  try {
    const options: ParseArgsOptionsConfig = {
      ...own,
      store: { type: 'string' },
      help: { type: 'boolean' },
    };
    const { help, ...given } = parseArgs({ args, options }).values;
    if (!help) return given;
    console.log(`Usage: ${usage}${HELP}`);
  } catch {
    console.error(`Usage: ${usage}${HELP}`);
    process.exitCode = 1;
  }
  return null;
}

/**
 * Starts a server and stays up. `also`: what else there is to try besides REST. `folder`: where its
 * files are.
 */
export async function run(
  createServer: (platform: Platform) => Server | Promise<Server>,
  also: (origin: string, platform: Platform) => string | Promise<string> = () => '',
  folder = join(import.meta.dirname, '../../../.demo'),
): Promise<void> {
  const args = readArguments(`npx node ${shown(process.argv[1] ?? '')} [--store <address>]`);
  if (args === null) return;
  const opened: (() => unknown)[] = [];
  const shutDown = async () => {
    try {
      for (const close of opened.splice(0).reverse()) await close();
    } catch (error) {
      console.error(explain(error));
      process.exitCode = 1;
    }
  };
  try {
    const port = readPort(8787);
    // The service's own address names the port, so a free one is found before the service is made.
    const held = port === 0 ? await hold() : { holder: port, origin: `http://127.0.0.1:${port}` };
    const { holder, origin } = held;
    if (typeof holder !== 'number') opened.push(() => holder.close());
    const { PUBLIC_URL } = process.env;
    const platform = await openPlatform(folder, {
      store: args.store,
      publicUrl: PUBLIC_URL || origin,
    });
    opened.push(() => platform.close());
    const server = await createServer(platform);
    opened.push(() => stop(server));
    const url = await listen(server, holder);
    const words = `${await firstKey(platform, url, folder)}\n${await also(origin, platform)}`;
    // Before it says that it is up: whoever waits for that may end it at once.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, shutDown);
    console.log(
      `The deception platform is up at ${url}\n\n${words}\n${whereabouts(platform, folder)}`,
    );
  } catch (error) {
    console.error(whyNot(error));
    process.exitCode = 1;
    await shutDown();
  }
}
