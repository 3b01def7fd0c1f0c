/** The configuration of a keyring, checked and completed, which all operations share. */
import type { Catalog } from './catalog.js';
import { createEmit, type Emit, type EventListener } from './events.js';
import { assert, assertFunction, readFields, readInteger } from './input.js';
import { createKeyFormat, type KeyFormat } from './key.js';
import { type Clock, guardStore, readClock } from './outage.js';
import type { Peppers, RandomBytes, Schemes } from './secret.js';
import { platformRandom, readPeppers } from './secret.js';
import type { KeyStore } from './store.js';
import type { TokenVerifier } from './tokens.js';
import { createUsage, type UsageRecorder } from './usage.js';

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
  /** Verifies short-lived tokens, which are then accepted alongside keys. */
  readonly tokens?: TokenVerifier | undefined;
  /**
   * Looks up the key behind a token on each use, so that the token ends with its key. Default:
   * true.
   */
  readonly checkParent?: boolean | undefined;
  /** How long an asynchronous store may take, in milliseconds: 1 to 600,000. Default: 2,000. */
  readonly storeTimeoutMs?: number | undefined;
  /**
   * Accepts keys made without a pepper alongside peppered ones, until a date: for a service that
   * adds its first pepper while such keys are in use. Until then, anyone who can write to the
   * database can insert a key of their own choosing, because no seal protects its row. Rotate those
   * keys, then remove this option.
   */
  readonly insecureAcceptUnpeppered?: { readonly until: Date } | undefined;
  /** Milliseconds since the epoch; for tests. Default: `Date.now`. */
  readonly now?: Clock | undefined;
  /** Bytes for keys, not for their ids; for tests. Default: the platform's secure source. */
  readonly random?: RandomBytes | undefined;
  /**
   * Told of keys made, revoked and rotated, and of every `admit` that admits or denies. An `admit`
   * that throws a `TypeError` (unknown operation, odd request) emits nothing. Whatever the listener
   * throws is dropped.
   */
  readonly onEvent?: EventListener | undefined;
}

const OPTIONS = [
  'prefix',
  'catalog',
  'store',
  'peppers',
  'tokens',
  'checkParent',
  'storeTimeoutMs',
  'insecureAcceptUnpeppered',
  'now',
  'random',
  'onEvent',
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
  /** The schemes of the keys accepted now; the first makes keys. */
  readonly acceptedSchemes: () => Schemes;
  /** Returns a well-formed answer in time, or throws a `StoreError`. */
  readonly store: KeyStore;
  /** Returns a time, or throws a `StoreError`. */
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly tokens: TokenVerifier | undefined;
  readonly checkParent: boolean;
  readonly usage: UsageRecorder;
  /** Undefined if there is no listener. */
  readonly emit: Emit | undefined;
}

export function createContext(options: KeyringOptions): Context {
  const given = readFields(options, OPTIONS, 'createKeyring') as unknown as KeyringOptions;
  const { catalog, tokens, onEvent, peppers, insecureAcceptUnpeppered } = given;
  const { now = Date.now, random = platformRandom } = given;
  const { checkParent = true, storeTimeoutMs = 2000 } = given;
  assertFunction(now, 'now');
  assertFunction(random, 'random');
  if (onEvent !== undefined) assertFunction(onEvent, 'onEvent');
  if (tokens !== undefined) assertFunction(tokens?.verify, 'tokens.verify');
  const isCatalog = typeof catalog?.expand === 'function';
  assert(isCatalog, 'catalog: pass what defineScopes returned');
  assert(typeof checkParent === 'boolean', 'checkParent: pass true or false');
  const unpepperedUntil = readUnpepperedUntil(insecureAcceptUnpeppered, peppers);
  const format = createKeyFormat(given.prefix);
  const timeoutMs = readInteger(storeTimeoutMs, 1, 600_000, 'storeTimeoutMs');
  const store = guardStore(given.store, timeoutMs);
  const clock = (): number => readClock(now);
  return Object.freeze({
    format,
    catalog,
    knownScopes: new Set(catalog.all),
    acceptedSchemes: acceptSchemes(readPeppers(peppers), unpepperedUntil, clock),
    store,
    clock,
    random,
    tokens,
    checkParent,
    usage: createUsage(store),
    emit: createEmit(onEvent),
  });
}

/** Until when keys without a pepper are accepted beside others; null if they are not. */
function readUnpepperedUntil(accept: unknown, peppers: unknown): number | null {
  if (accept === undefined) return null;
  const { until } = readFields(accept, ['until'], 'insecureAcceptUnpeppered');
  const instead = 'insecureAcceptUnpeppered: pass { until: Date }, beside peppers';
  assert(until instanceof Date && peppers !== 'none', instead);
  const time = new Date(until).getTime();
  assert(!Number.isNaN(time), instead);
  return time;
}

function acceptSchemes(schemes: Schemes, until: number | null, clock: Clock): () => Schemes {
  // By the epoch it was over before it began: no need to ask the clock.
  if (until === null || until <= 0) return () => schemes;
  const withUnpeppered: Schemes = [...schemes, ...readPeppers('none')];
  return () => (clock() < until ? withUnpeppered : schemes);
}
