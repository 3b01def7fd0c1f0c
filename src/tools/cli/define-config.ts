/** What the command is told of a service: its keyring, and what a keyring does not show. */
import type { Catalog } from '../../core/catalog.js';
import { assert, hasMethods, readFields } from '../../core/input.js';
import { createKeyFormat } from '../../core/key.js';
import type { Policy } from '../../core/policy.js';
import type { Awaitable, KeyStore } from '../../core/store.js';
import type { Keyring } from '../../management/keyring.js';
import type { Dialect } from '../../stores/schema/migrations.js';
import type { GuardedRoute } from '../lock/route.js';

/** How `keyscope doctor` asks an SQL database what its store does not say. */
export interface CommandSql {
  /** The kind of the database. */
  readonly dialect: Dialect;
  /** Runs one statement that reads, over the service's own client. Returns its rows as objects. */
  query(sql: string): Awaitable<readonly object[]>;
}

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
  /** The prefixes of all keys of the service, for `scan` and `rules`: `['acme', 'acme_test']`. */
  readonly prefixes?: readonly string[] | undefined;
  /**
   * Migrates: calls `migrate` of the store's entry with the service's client and options. Default:
   * the store itself creates what it needs, before its first use.
   */
  readonly migrate?: (() => Awaitable<unknown>) | undefined;
  /** For an SQL database. Without it, most of what `doctor` looks at is not known. */
  readonly sql?: CommandSql | undefined;
  /** How many connections the client's pool may open. For `doctor`. */
  readonly connections?: number | undefined;
  /** The policy that the guards ask. For `lock`. */
  readonly policy?: Policy | undefined;
  /** What the service has, such as `() => routesOf(app)`. For `lock`. */
  readonly routes?: (() => Awaitable<Iterable<GuardedRoute>>) | undefined;
  /** Ends the connections. Called at the end in every case, and waited for a few seconds. */
  readonly close?: (() => Awaitable<unknown>) | undefined;
}

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

const DIALECTS: readonly unknown[] = ['postgres', 'mysql', 'sqlite'];

/** In the global symbol registry: the config may import another copy of the package. */
const VERSION = Symbol.for('keyscope.config');

/** Of the shape of a config. A release that changes what it means adds one. */
const CURRENT = 1;

/**
 * Describes a service to the command `keyscope`: `keyscope.config.ts` (or `.mjs`, `.js`) exports
 * what this returns as its default.
 *
 * Not checked: that `store` and `catalog` are those of the keyring, and `sql` its database.
 *
 * @throws TypeError that says what to write instead, and quotes no pepper.
 * @example
 * export default defineConfig({
 *   keyring,
 *   store,
 *   catalog,
 *   peppers: ['2026-11'],
 *   prefixes: ['acme'],
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
    assert(holds(given[field]), `defineConfig: ${field}: ${instead}`);
  }
  return Object.freeze(Object.defineProperty({ ...config }, VERSION, { value: CURRENT }));
}

/** What a field has to be, and what to write if it is not. Nothing that was given is quoted. */
interface Rule {
  readonly holds: (value: unknown) => boolean;
  readonly instead: string;
}

const FUNCTION: Rule = {
  holds: (value) => value === undefined || typeof value === 'function',
  instead: 'pass a function or leave it out',
};

const RULES: Readonly<Record<keyof CommandConfig, Rule>> = {
  keyring: {
    holds: (value) => hasMethods(value, ...KEYRING_METHODS),
    instead: 'pass what createKeyring returned; await a promise of it',
  },
  store: {
    holds: (value) => hasMethods(value, 'findById', 'list'),
    instead: 'pass the store that the keyring was made with',
  },
  catalog: {
    holds: (value) => hasMethods(value, 'expand', 'isReserved'),
    instead: 'pass what defineScopes returned',
  },
  peppers: {
    holds: (value) => value === undefined || value === 'none' || arePepperIds(value),
    instead: "pass a list of the ids alone, without their secrets, or 'none'",
  },
  prefixes: {
    holds: (value) => value === undefined || arePrefixes(value),
    instead: "pass a list of prefixes, such as ['acme', 'acme_test']",
  },
  migrate: FUNCTION,
  sql: {
    holds: (value) => value === undefined || isSql(value),
    instead: "pass { dialect: 'postgres', query }, or 'mysql' or 'sqlite'",
  },
  connections: {
    holds: (value) => value === undefined || Number.isSafeInteger(value),
    instead: 'pass a whole number or leave it out',
  },
  policy: {
    holds: (value) => value === undefined || hasMethods(value, 'requires', 'unmapped'),
    instead: 'pass what definePolicy returned',
  },
  routes: FUNCTION,
  close: FUNCTION,
};

const FIELDS = Object.keys(RULES) as readonly (keyof CommandConfig)[];

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

/** Whether a module exported a config, and one that this release understands. */
export function isConfig(value: unknown): 'config' | 'newer' | 'other' {
  const version = (value as { readonly [VERSION]?: unknown } | null | undefined)?.[VERSION];
  if (typeof version !== 'number') return 'other';
  return version === CURRENT ? 'config' : 'newer';
}

/** Whether keys can begin with it. */
export function isPrefix(text: unknown): boolean {
  try {
    createKeyFormat(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether a pepper is among those of the config; null where the config does not say. */
export function isConfigured(pepper: string | null, { peppers }: CommandConfig): boolean | null {
  if (peppers === undefined) return null;
  const ids: readonly (string | null)[] = peppers === 'none' ? [null] : peppers;
  return ids.includes(pepper);
}
