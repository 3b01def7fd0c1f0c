/** What the command is told of a service: its keyring, and what a keyring does not show. */
import { hasMethods } from '../common/methods.js';
import type { Catalog } from '../core/catalog.js';
import { assert, isObject, readFields } from '../core/input.js';
import type { Keyring } from '../core/keyring.js';
import type { Awaitable, KeyStore } from '../core/store.js';
import type { MysqlClient } from '../stores/mysql/client.js';
import type { PostgresClient } from '../stores/postgres/clients.js';
import type { RedisClient } from '../stores/redis/clients.js';
import type { SqliteHandle } from '../stores/sqlite/handle.js';

/**
 * The client that the store was made with. The command opens no database: what it knows of one
 * beyond the store, such as the version of its schema, it asks over this client.
 */
export type CommandDatabase =
  /** `triggers: false` where the service migrates without: see `SchemaOptions`. */
  | {
      readonly kind: 'postgres';
      readonly client: PostgresClient;
      readonly triggers?: boolean | undefined;
    }
  | {
      readonly kind: 'mysql';
      readonly client: MysqlClient;
      readonly triggers?: boolean | undefined;
    }
  | { readonly kind: 'sqlite'; readonly client: SqliteHandle }
  /** `prefix`: the same as for the store. */
  | { readonly kind: 'redis'; readonly client: RedisClient; readonly prefix?: string | undefined };

/** What a `keyscope.config` default-exports, by way of {@link defineConfig}. */
export interface CommandConfig {
  /** The keyring of the service: every command that shows or changes a key calls it. */
  readonly keyring: Keyring;
  /** The store that the keyring was made with: for reports, `migrate` and `doctor`. */
  readonly store: KeyStore;
  /** The catalog that the keyring was made with. */
  readonly catalog: Catalog;
  /** The ids of the keyring's peppers, never their secrets; `'none'` without. For reports. */
  readonly peppers?: readonly string[] | 'none' | undefined;
  /** The client of the store, for `migrate` and `doctor`. Default: they know less. */
  readonly database?: CommandDatabase | undefined;
  /** Ends the connections. Called at the end in every case, and waited for a few seconds. */
  readonly close?: (() => Awaitable<unknown>) | undefined;
}

const FIELDS = [
  'keyring',
  'store',
  'catalog',
  'peppers',
  'database',
  'close',
] as const satisfies readonly (keyof CommandConfig)[];

const KEYRING_METHODS = [
  'issue',
  'rotate',
  'revoke',
  'revokeLineage',
  'suspend',
  'resume',
  'list',
  'get',
  'identify',
] as const satisfies readonly (keyof Keyring)[];

const KINDS: readonly unknown[] = ['postgres', 'mysql', 'sqlite', 'redis'];

/** In the global symbol registry: the config may import another copy of the package. */
const VERSION = Symbol.for('keyscope.config');

/** Of the shape of a config. A release that changes what it means adds one. */
const CURRENT = 1;

/**
 * Describes a service to the command `keyscope`: `keyscope.config.ts` (or `.mjs`, `.js`) exports
 * what this returns as its default.
 *
 * Not checked: that `store`, `catalog` and `database` are those of the keyring.
 *
 * @throws TypeError that says what to write instead, and quotes no pepper.
 * @example
 * export default defineConfig({
 *   keyring,
 *   store,
 *   catalog,
 *   peppers: ['2026-11'],
 *   database: { kind: 'postgres', client: pool },
 *   close: () => pool.end(),
 * });
 */
export function defineConfig(config: CommandConfig): CommandConfig {
  const { keyring, store, catalog, peppers, database, close } = readFields(
    config,
    FIELDS,
    'defineConfig',
  );
  const isKeyring = hasMethods(keyring, ...KEYRING_METHODS);
  assert(isKeyring, 'defineConfig: keyring: pass what createKeyring returned; await a promise');
  const isStore = hasMethods(store, 'findById', 'list');
  assert(isStore, 'defineConfig: store: pass the store that the keyring was made with');
  const isCatalog = hasMethods(catalog, 'expand', 'isReserved');
  assert(isCatalog, 'defineConfig: catalog: pass what defineScopes returned');
  const areIds = peppers === undefined || peppers === 'none' || arePepperIds(peppers);
  assert(areIds, "defineConfig: peppers: pass a list of the ids alone, or 'none'");
  const isDatabase = database === undefined || isKnownDatabase(database);
  assert(isDatabase, "defineConfig: database: pass { kind: 'postgres' | … , client }");
  const isClose = close === undefined || typeof close === 'function';
  assert(isClose, 'defineConfig: close: pass a function or leave it out');
  return Object.freeze(Object.defineProperty({ ...config }, VERSION, { value: CURRENT }));
}

function arePepperIds(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const ids: readonly unknown[] = [...(value as readonly unknown[])];
  return ids.every((id) => typeof id === 'string' && /^[a-z0-9-]{1,32}$/.test(id));
}

function isKnownDatabase(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { kind, client } = value as { readonly kind?: unknown; readonly client?: unknown };
  return KINDS.includes(kind) && client !== null && client !== undefined;
}

/** Whether a module exported a config, and one that this release understands. */
export function isConfig(value: unknown): 'config' | 'newer' | 'other' {
  const version = (value as { readonly [VERSION]?: unknown } | null | undefined)?.[VERSION];
  if (typeof version !== 'number') return 'other';
  return version === CURRENT ? 'config' : 'newer';
}
