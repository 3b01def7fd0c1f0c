/** The checked configuration of a keyring, with defaults filled in. All operations share it. */
import type { Catalog } from './catalog.js';
import { type EntityIds, type EntityKind, readEntityKind } from './entity.js';
import type { ContextReader, Emit, ErrorListener, EventListener } from './events.js';
import { createContextReader, createEmit, createReport } from './events.js';
import {
  assert,
  assertFunction,
  hasMethods,
  readFields,
  readFlag,
  readInteger,
  readMaxLifetime,
  readText,
} from './input.js';
import { createKeyFormat, type KeyFormat } from './key.js';
import { type Clock, guardStore, readClock, systemClock } from './outage.js';
import type { Policy } from './policy.js';
import type { Peppers, RandomBytes, Schemes } from './secret.js';
import { platformRandom, readPeppers } from './secret.js';
import type { KeyStore } from './store.js';
import { readVerifiers, type TokenVerifier, type Verifiers } from './tokens.js';
import { createUsage, readUsageOptions, type UsageOptions, type UsageRecorder } from './usage.js';

/** The options of `createKeyring`: those of every keyring, and a policy or a catalog. */
export type KeyringOptions<
  C extends Catalog = Catalog,
  Operation extends string = string,
> = CommonOptions & (PolicyOption<C, Operation> | CatalogOption<C>);

/** For a service that guards operations. */
interface PolicyOption<C extends Catalog, Operation extends string> {
  /** The result of `definePolicy`, which brings its catalog. */
  readonly policy: Policy<Operation, C>;
  readonly catalog?: undefined;
}

/** For a service that manages keys and guards nothing: `admit` of its keyring throws. */
interface CatalogOption<C extends Catalog> {
  /** The result of `defineScopes`. */
  readonly catalog: C;
  readonly policy?: undefined;
}

/** The options of every keyring. */
interface CommonOptions {
  /** 1 to 20 lower-case letters, digits and inner `_`. Makes a leaked key recognisable. */
  readonly prefix: string;
  readonly store: KeyStore;
  /**
   * The secrets behind every digest and seal. The first one digests new keys; `verify` tries all of
   * them. With `'none'`, anyone who can write to the database can make keys.
   */
  readonly peppers: Peppers;
  /**
   * The ids of the service's entities. `'uuid'`: UUIDs in lower case. `'text'`: 1 to 64 letters,
   * digits and `. _ ~ : @ | -`, compared exactly. Asked of authorities, inputs and requests, never
   * of stored keys, so you can change to `'text'` later. Default: `'uuid'`.
   */
  readonly entityIds?: EntityIds | undefined;
  /**
   * The name of the installation, such as `acme production`, of at most 200 characters. A seal is
   * valid in one deployment only, so a row copied from staging authenticates nowhere else. Set it
   * once: changing it ends every key. Default: empty.
   */
  readonly deployment?: string | undefined;
  /** The longest lifetime that `issue` and `rotate` allow, in milliseconds. Default: no limit. */
  readonly maxLifetimeMs?: number | undefined;
  /**
   * Verifiers of short-lived tokens, which the keyring then accepts alongside keys. In a list, the
   * first verifier that recognizes a token decides. The keyring refuses a token that none of them
   * recognizes.
   */
  readonly tokens?: TokenVerifier | readonly TokenVerifier[] | undefined;
  /**
   * Whether to look up the key behind a token on each use, so that the token ends with its key.
   * Default: true.
   */
  readonly checkParent?: boolean | undefined;
  /**
   * How long to wait for an asynchronous store, and for `tokens`, in milliseconds: 1 to 600,000.
   * Default: 2,000.
   */
  readonly storeTimeoutMs?: number | undefined;
  /**
   * How often `lastUsedAt` and `scopesUsed` are written. `'off'` writes neither. Default: every 5
   * seconds, and once a minute for each key.
   */
  readonly usage?: UsageOptions | 'off' | undefined;
  /**
   * True accepts a prefix that secret scanners attribute to another vendor, such as `sk_live`.
   * Scanners would report your leaked keys to that vendor, which cannot end them, and not to you.
   * Default: false.
   */
  readonly insecureAcceptForeignPrefix?: boolean | undefined;
  /** Milliseconds since the epoch; for tests. Default: `Date.now`. */
  readonly now?: Clock | undefined;
  /** Bytes for keys, not for their ids; for tests. Default: the platform's secure source. */
  readonly random?: RandomBytes | undefined;
  /**
   * Called with an event for everything that happens to keys, for every refused management call,
   * and for every `admit` that admits or denies. A call that throws a `TypeError` (unknown
   * operation, odd request) emits nothing. If the listener throws, no decision changes, and
   * `onError` gets the error.
   */
  readonly onEvent?: EventListener | undefined;
  /**
   * Called with errors that must not fail a request: usage that could not be written, a listener
   * that threw. Log them. Without `onError`, they are lost.
   */
  readonly onError?: ErrorListener | undefined;
}

const OPTIONS = [
  'prefix',
  'policy',
  'catalog',
  'store',
  'peppers',
  'entityIds',
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
 * {@link KeyringOptions}, checked and with defaults filled in. Every operation is a function of
 * this and its input.
 */
export interface Context {
  readonly format: KeyFormat;
  /** Undefined if the keyring has a catalog alone. */
  readonly policy: Policy | undefined;
  readonly catalog: Catalog;
  /** Every scope of the catalog. */
  readonly knownScopes: ReadonlySet<string>;
  /** The schemes of accepted keys; the first makes new ones. */
  readonly schemes: Schemes;
  /** The ids that authorities, inputs and requests can have. */
  readonly entityKind: EntityKind;
  /** The store behind its guard: answers well-formed and in time, or fails with a `StoreError`. */
  readonly store: KeyStore;
  /** How long to wait for the store or a token verifier, in milliseconds. */
  readonly timeoutMs: number;
  /** Returns a time, or throws a `StoreError`. */
  readonly clock: Clock;
  /** In milliseconds; infinite for unlimited. */
  readonly maxLifetimeMs: number;
  readonly random: RandomBytes;
  /** Null if the keyring accepts no tokens. */
  readonly verifiers: Verifiers | null;
  readonly checkParent: boolean;
  readonly usage: UsageRecorder;
  /** Undefined without a listener. */
  readonly emit: Emit | undefined;
  /** Cleans the context of a request for its event. */
  readonly readEventContext: ContextReader;
}

/** {@link KeyringOptions} before the check that there is a policy or a catalog. */
type GivenOptions = CommonOptions & Partial<Pick<Context, 'policy' | 'catalog'>>;

export function createContext(options: KeyringOptions): Context {
  const given = readFields(options, OPTIONS, 'createKeyring') as unknown as GivenOptions;
  const {
    policy,
    catalog = policy?.catalog as Catalog,
    tokens,
    checkParent = true,
    storeTimeoutMs = 2000,
    now = systemClock,
    random = platformRandom,
    onEvent,
    onError,
  } = given;
  for (const name of ['now', 'random', 'onEvent', 'onError'] as const) {
    assertFunction(given[name], name);
  }
  const isOne = policy === undefined || given.catalog === undefined;
  assert(
    isOne && hasMethods(catalog, 'expand'),
    'pass the policy that definePolicy returned, or a catalog alone',
  );
  const format = createKeyFormat(given.prefix);
  const timeoutMs = readInteger(storeTimeoutMs, 1, 600_000, 'storeTimeoutMs');
  const store = guardStore(given.store, timeoutMs);
  const binding = { prefix: format.prefix, deployment: readDeployment(given.deployment) };
  const report = createReport(onError);
  return Object.freeze({
    format,
    policy,
    catalog,
    knownScopes: new Set(catalog.all),
    schemes: readPeppers(given.peppers, binding),
    entityKind: readEntityKind(given.entityIds),
    store,
    clock: () => readClock(now),
    maxLifetimeMs: readMaxLifetime(given.maxLifetimeMs, 'maxLifetimeMs'),
    random,
    verifiers: tokens === undefined ? null : readVerifiers(tokens),
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
