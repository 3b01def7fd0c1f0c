/** The configuration of a keyring, checked and completed, which all operations share. */
import type { Catalog } from './catalog.js';
import type { ContextReader, Emit, ErrorListener, EventListener } from './events.js';
import { createContextReader, createEmit, createReport } from './events.js';
import {
  assert,
  assertFunction,
  readFields,
  readFlag,
  readInteger,
  readMaxLifetime,
  readText,
} from './input.js';
import { createKeyFormat, type KeyFormat } from './key.js';
import { type Clock, guardStore, readClock } from './outage.js';
import type { Peppers, RandomBytes, Schemes } from './secret.js';
import { platformRandom, readPeppers } from './secret.js';
import type { KeyStore } from './store.js';
import { type ChooseVerifier, readVerifiers, type TokenVerifier } from './tokens.js';
import { createUsage, readUsageOptions, type UsageOptions, type UsageRecorder } from './usage.js';

/** How a service keeps its keys. */
export interface KeyringOptions<C extends Catalog = Catalog> {
  /** 1 to 20 lower-case letters, digits and inner `_`. Makes a leaked key recognisable. */
  readonly prefix: string;
  readonly catalog: C;
  readonly store: KeyStore;
  /**
   * The first digests new keys; all are tried on verify. `'none'`: anyone who can write to the
   * database makes keys.
   */
  readonly peppers: Peppers;
  /**
   * Names the installation, such as `acme production`: at most 200 characters, default none. Seals
   * hold for one deployment, so that a row copied from staging authenticates nowhere else. Choose
   * it once: another name ends every key.
   */
  readonly deployment?: string | undefined;
  /** The longest life of a key that `issue` and `rotate` allow, in milliseconds. Default: none. */
  readonly maxLifetimeMs?: number | undefined;
  /**
   * Verifies short-lived tokens, which are then accepted alongside keys. In a list, the first that
   * recognizes a token decides; a token that none of them recognizes is refused.
   */
  readonly tokens?: TokenVerifier | readonly TokenVerifier[] | undefined;
  /**
   * Looks up the key behind a token on each use, so that the token ends with its key. Default:
   * true.
   */
  readonly checkParent?: boolean | undefined;
  /**
   * How long an asynchronous store may take, and so may `tokens`, in milliseconds: 1 to 600,000.
   * Default: 2,000.
   */
  readonly storeTimeoutMs?: number | undefined;
  /**
   * When `lastUsedAt` and `scopesUsed` are written; `'off'` writes neither. Default: every 5
   * seconds, and once a minute for each key.
   */
  readonly usage?: UsageOptions | 'off' | undefined;
  /**
   * True accepts a prefix under which scanners look for the keys of another vendor, such as
   * `sk_live`. They would report your keys to that vendor, which cannot end them, and you would not
   * hear of it. Default: false.
   */
  readonly insecureAcceptForeignPrefix?: boolean | undefined;
  /** Milliseconds since the epoch; for tests. Default: `Date.now`. */
  readonly now?: Clock | undefined;
  /** Bytes for keys, not for their ids; for tests. Default: the platform's secure source. */
  readonly random?: RandomBytes | undefined;
  /**
   * Told of everything that happens to keys, of every refusal in their management, and of every
   * `admit` that admits or denies. What throws a `TypeError` (unknown operation, odd request) emits
   * nothing. A listener that throws changes no decision; `onError` hears of it.
   */
  readonly onEvent?: EventListener | undefined;
  /**
   * Told of what is swallowed for the request's sake: usage that could not be written, a listener
   * that threw. Log it; without it, nobody hears of them.
   */
  readonly onError?: ErrorListener | undefined;
}

const OPTIONS = [
  'prefix',
  'catalog',
  'store',
  'peppers',
  'deployment',
  'maxLifetimeMs',
  'tokens',
  'checkParent',
  'storeTimeoutMs',
  'usage',
  'insecureAcceptForeignPrefix',
  'now',
  'random',
  'onEvent',
  'onError',
] as const satisfies readonly (keyof KeyringOptions)[];

/**
 * {@link KeyringOptions}, checked and completed: every operation is a function of this and its
 * input.
 */
export interface Context {
  readonly format: KeyFormat;
  readonly catalog: Catalog;
  /** The scopes that exist. */
  readonly knownScopes: ReadonlySet<string>;
  /** The schemes of accepted keys; the first makes new ones. */
  readonly schemes: Schemes;
  /** Returns a well-formed answer in time, or throws a `StoreError`. */
  readonly store: KeyStore;
  /** How long a verifier of tokens may take, in milliseconds, as a store may. */
  readonly timeoutMs: number;
  /** Returns a time, or throws a `StoreError`. */
  readonly clock: Clock;
  /** In milliseconds; null if there is no limit. */
  readonly maxLifetimeMs: number | null;
  readonly random: RandomBytes;
  /** Null if no tokens are accepted. */
  readonly chooseVerifier: ChooseVerifier | null;
  readonly checkParent: boolean;
  readonly usage: UsageRecorder;
  /** Undefined if there is no listener. */
  readonly emit: Emit | undefined;
  /** What an event says about a request. */
  readonly readEventContext: ContextReader;
}

export function createContext(options: KeyringOptions): Context {
  const given = readFields(options, OPTIONS, 'createKeyring') as unknown as KeyringOptions;
  const { catalog, tokens, onEvent, onError } = given;
  const { now = Date.now, random = platformRandom } = given;
  const { checkParent = true, storeTimeoutMs = 2000 } = given;
  for (const name of ['now', 'random', 'onEvent', 'onError'] as const) {
    if (given[name] !== undefined) assertFunction(given[name], name);
  }
  const isCatalog = typeof catalog?.expand === 'function';
  assert(isCatalog, 'catalog: pass what defineScopes returned');
  const format = createKeyFormat(given.prefix);
  const timeoutMs = readInteger(storeTimeoutMs, 1, 600_000, 'storeTimeoutMs');
  const store = guardStore(given.store, timeoutMs);
  const clock = (): number => readClock(now);
  const binding = { prefix: format.prefix, deployment: readDeployment(given.deployment) };
  const report = createReport(onError);
  return Object.freeze({
    format,
    catalog,
    knownScopes: new Set(catalog.all),
    schemes: readPeppers(given.peppers, binding),
    store,
    clock,
    maxLifetimeMs: readMaxLifetime(given.maxLifetimeMs, 'maxLifetimeMs'),
    random,
    chooseVerifier: tokens === undefined ? null : readVerifiers(tokens),
    timeoutMs,
    checkParent: readFlag(checkParent, 'checkParent'),
    usage: createUsage(store, readUsageOptions(given.usage), timeoutMs, report),
    emit: createEmit(onEvent, report),
    readEventContext: createContextReader(format.prefix),
  });
}

function readDeployment(value: unknown = ''): string {
  return value === '' ? '' : readText(value, 200, 'deployment');
}
