/** The config, by which a service describes itself to the command. */
import { assert, hasMethods, isObject, readFields } from '../../core/input.js';
import { createKeyFormat } from '../../core/key.js';
import type { Awaitable, KeyStore } from '../../core/store.js';
import type { Keyring } from '../../management/keyring.js';
import type { Dialect } from '../../stores/schema/migrations.js';
import type { GuardedRoute } from '../lock/route.js';

/** How `keyscope doctor` queries an SQL database directly. */
export interface CommandSql {
  /** The kind of the database. */
  readonly dialect: Dialect;
  /** Runs one read-only statement over the service's own client. Returns its rows as objects. */
  query(sql: string): Awaitable<readonly unknown[]>;
}

/** The default export of a `keyscope.config`. Pass it through {@link defineConfig}. */
export interface CommandConfig {
  /**
   * The keyring of the service. Every command that shows or changes keys calls it. If you pass
   * several in a list, `--prefix` chooses one, and the lock is of all of them.
   */
  readonly keyring: Keyring | readonly Keyring[];
  /** The store that the keyring was made with: for reports, `migrate` and `doctor`. */
  readonly store: KeyStore;
  /** The ids of the keyring's peppers, never their secrets, or `'none'`. For reports. */
  readonly peppers?: readonly string[] | 'none' | undefined;
  /**
   * The prefixes of all keys of the service, for `scan` and `rules`: `['acme', 'acme_test']`.
   * Default: those of its keyrings.
   */
  readonly prefixes?: readonly string[] | undefined;
  /** The keyring's `maxLifetimeMs`, so that errors about `--expires` can name the limit. */
  readonly maxLifetimeMs?: number | undefined;
  /**
   * Calls `migrate` of the store's entry with the service's client and options. Default: the store
   * creates its tables before its first use.
   */
  readonly migrate?: (() => Awaitable<unknown>) | undefined;
  /** For an SQL database. Without it, `doctor` can make only a few of its checks. */
  readonly sql?: CommandSql | undefined;
  /** The maximum size of the client's connection pool. For `doctor`. */
  readonly connections?: number | undefined;
  /** Lists the routes of the service, such as `() => routesOf(app)`. For `lock`. */
  readonly routes?: (() => Awaitable<Iterable<GuardedRoute>>) | undefined;
  /**
   * Why routes have no guard, by path or pattern: `{ '/settings/*': 'people with a session' }`.
   * For `lock`. Permits new routes beneath a pattern, too.
   */
  readonly reasons?: Readonly<Record<string, string>> | undefined;
  /** Closes the connections. Always called at the end; may take a few seconds. */
  readonly close?: (() => Awaitable<unknown>) | undefined;
}

const KEYRING_METHODS = [
  'issue',
  'issueKeyless',
  'rotate',
  'revoke',
  'revokeLineage',
  'suspend',
  'resume',
  'list',
  'get',
  'identify',
] as const satisfies readonly (keyof Keyring)[];

const DIALECTS: readonly unknown[] = ['postgres', 'mysql', 'sqlite'];

/** A global symbol, because the config may import another copy of the package. */
const VERSION = Symbol.for('keyscope.config');

/** The version of the config's shape. A release that changes its meaning increments it. */
const CURRENT = 1;

/**
 * Describes a service to the command `keyscope`. Default-export the result from
 * `keyscope.config.ts` (or `.mjs`, `.js`).
 *
 * Not checked: that `store` belongs to the keyring, and `sql` to its database.
 *
 * @throws TypeError that says what to write instead, and quotes no pepper.
 * @example
 * export default defineConfig({
 *   keyring,
 *   store,
 *   peppers: ['2026-11'],
 *   maxLifetimeMs,
 *   migrate: () => migrate(pool),
 *   sql: { dialect: 'postgres', query: async (sql) => (await pool.query(sql)).rows },
 *   connections: pool.options.max,
 *   close: () => pool.end(),
 * });
 */
export function defineConfig(config: CommandConfig): CommandConfig {
  const given = readFields(config, FIELDS, 'defineConfig');
  for (const field of FIELDS) {
    const { holds, instead } = RULES[field];
    const isLeftOut = given[field] === undefined && !NEEDED.includes(field);
    assert(isLeftOut || holds(given[field]), `defineConfig: ${field}: ${instead}`);
  }
  return Object.freeze(Object.defineProperty({ ...config }, VERSION, { value: CURRENT }));
}

/** All other fields may be omitted. */
const NEEDED: readonly (keyof CommandConfig)[] = ['keyring', 'store'];

/** Checks a field. `instead` says what to write, and never quotes the given value. */
interface Rule {
  readonly holds: (value: unknown) => boolean;
  readonly instead: string;
}

const FUNCTION: Rule = {
  holds: (value) => typeof value === 'function',
  instead: 'pass a function, or omit it',
};

const RULES: Readonly<Record<keyof CommandConfig, Rule>> = {
  keyring: {
    holds: areKeyrings,
    instead: 'pass the keyring that createKeyring returned, or a list of keyrings, not a promise',
  },
  store: {
    holds: (value) => hasMethods(value, 'findById', 'list'),
    instead: 'pass the store that the keyring was made with',
  },
  peppers: {
    holds: (value) => value === 'none' || arePepperIds(value),
    instead: "pass a list of pepper ids, without their secrets, or 'none'",
  },
  prefixes: {
    holds: arePrefixes,
    instead: "pass a list of prefixes, such as ['acme', 'acme_test']",
  },
  maxLifetimeMs: {
    holds: (value) => Number.isSafeInteger(value) && Number(value) > 0,
    instead: 'pass what you passed to createKeyring, or omit it',
  },
  migrate: FUNCTION,
  sql: { holds: isSql, instead: "pass { dialect: 'postgres', query }, or 'mysql' or 'sqlite'" },
  connections: { holds: Number.isSafeInteger, instead: 'pass a whole number, or omit it' },
  routes: FUNCTION,
  reasons: {
    holds: isObject,
    instead: "pass { pattern: reason }, such as { '/settings/*': 'people with a session' }",
  },
  close: FUNCTION,
};

const FIELDS = Object.keys(RULES) as readonly (keyof CommandConfig)[];

function areKeyrings(value: unknown): boolean {
  const keyrings = keyringsOf({ keyring: value as Keyring });
  return keyrings.length > 0 && keyrings.every((each) => hasMethods(each, ...KEYRING_METHODS));
}

/** Returns all keyrings of a config. */
export function keyringsOf({ keyring }: Pick<CommandConfig, 'keyring'>): readonly Keyring[] {
  return Array.isArray(keyring) ? (keyring as readonly Keyring[]) : [keyring as Keyring];
}

function arePepperIds(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const ids: readonly unknown[] = [...(value as readonly unknown[])];
  return ids.every((id) => typeof id === 'string' && /^[a-z0-9-]{1,32}$/.test(id));
}

function arePrefixes(value: unknown): boolean {
  if (!Array.isArray(value) || value.length === 0) return false;
  return [...(value as readonly unknown[])].every(isPrefix);
}

function isSql(value: unknown): boolean {
  const { dialect } = Object(value) as { readonly dialect?: unknown };
  return DIALECTS.includes(dialect) && hasMethods(value, 'query');
}

/** Tells whether a module's export is a config, and whether this release understands it. */
export function isConfig(value: unknown): 'config' | 'newer' | 'other' {
  const version = (value as { readonly [VERSION]?: unknown } | null | undefined)?.[VERSION];
  if (typeof version !== 'number') return 'other';
  return version === CURRENT ? 'config' : 'newer';
}

/** Whether `text` is a valid key prefix. */
export function isPrefix(text: unknown): boolean {
  try {
    createKeyFormat(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether the config lists a pepper; null if the config lists none. */
export function isConfigured(pepper: string | null, { peppers }: CommandConfig): boolean | null {
  if (peppers === undefined) return null;
  const ids: readonly (string | null)[] = peppers === 'none' ? [null] : peppers;
  return ids.includes(pepper);
}
