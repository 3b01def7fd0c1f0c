/**
 * What the operations stand on: the configuration of a keyring, checked; a store and a clock that may break; the events
 * they tell of; authority; and the steps they share.
 */
import type { Catalog } from './catalog.js';
import { AccessError, entityList, expect, fields, isUuid, raise, StoreError, whole } from './errors.js';
import { type KeyFormat, keyFormat } from './key.js';
import type { Draft, IssuedKey, KeyInfo, KeyRecord } from './record.js';
import { issuedKey, readRecord, sealedText, toKeyInfo } from './record.js';
import { coveredBy, patterns } from './scope.js';
import type { Peppers, RandomBytes, Scheme } from './secret.js';
import { drawEntropy, platformRandom, prepareSchemes, randomUuid } from './secret.js';
import type { KeyStore, SchemeSummary } from './store.js';
import type { TokenVerifier } from './tokens.js';
import { createUsage, type UsageRecorder } from './usage.js';

/** Milliseconds since the epoch. */
export type Clock = () => number;

/** How a service keeps its keys. */
export interface KeyringOptions<C extends Catalog = Catalog> {
  /** 1 to 20 lower-case letters, digits and inner `_`: what makes a leaked key recognisable. */
  readonly prefix: string;
  readonly catalog: C;
  readonly store: KeyStore;
  /** The first digests new keys, all are tried on verify. `'none'`: whoever writes the database makes keys. */
  readonly peppers: Peppers;
  /** Takes short-lived tokens at the same door. */
  readonly tokens?: TokenVerifier | undefined;
  /** Looks the key behind a token up on each use, so that its end ends the token. Default: true. */
  readonly checkParent?: boolean | undefined;
  /** How long an asynchronous store may take, in milliseconds. Default: 2,000. */
  readonly storeTimeoutMs?: number | undefined;
  /**
   * Takes keys made without a pepper beside peppered ones, until a date: for a service that gains its first
   * pepper while such keys are out. Until then whoever can write the database can insert a key of their own
   * choosing, because nothing seals its row. Rotate those keys, then take this out.
   */
  readonly insecureAcceptUnpeppered?: { readonly until: Date } | undefined;
  /** Milliseconds since the epoch; for tests. Default: `Date.now`. */
  readonly now?: Clock | undefined;
  /** Bytes for keys and ids; for tests. Default: the platform's secure source. */
  readonly random?: RandomBytes | undefined;
  /** Told of keys made, revoked and rotated, and of every admit; whatever it throws is dropped. */
  readonly onEvent?: EventListener | undefined;
}

// biome-ignore format: one line
const OPTIONS = ['prefix', 'catalog', 'store', 'peppers', 'tokens', 'checkParent', 'storeTimeoutMs',
  'insecureAcceptUnpeppered', 'now', 'random', 'onEvent'] as const;

// Unless a date is given, the time in which keys without a pepper are taken beside peppered ones has ended.
const OVER = { until: new Date(0) };

/** {@link KeyringOptions}, checked and completed: every operation is a function of this and of what it was given. */
export interface Context extends Pick<KeyringOptions, 'catalog' | 'tokens' | 'checkParent'> {
  readonly format: KeyFormat;
  /** The scopes that exist. */
  readonly known: ReadonlySet<string>;
  /** Those under which keys are taken now: for a time, without a pepper beside peppered ones. The first makes keys. */
  accepted(): readonly [Scheme, ...Scheme[]];
  /** Guarded: answers in time and in shape, or throws a `StoreError`. */
  readonly store: KeyStore;
  /** Guarded likewise. */
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly usage: UsageRecorder;
  /** Undefined where nobody listens: then no event is made. */
  readonly emit: ((event: KeyringEvent) => void) | undefined;
}

export function createContext(options: KeyringOptions): Context {
  const given = fields(options, OPTIONS, 'createKeyring') as unknown as KeyringOptions;
  const { catalog, peppers, tokens, checkParent = true, storeTimeoutMs = 2000 } = given;
  const { now = Date.now, random = platformRandom, onEvent, insecureAcceptUnpeppered: accept = OVER } = given;
  for (const part of [now, random, onEvent === undefined ? now : onEvent, tokens === undefined ? now : tokens?.verify])
    expect(typeof part === 'function', 'now, random, onEvent and tokens.verify: pass functions or leave them out');
  expect(typeof catalog?.expand === 'function', 'catalog: pass what defineScopes returned');
  expect(typeof checkParent === 'boolean', 'checkParent: pass true or false');
  const { until } = fields(accept, ['until'], 'insecureAcceptUnpeppered');
  const end = until instanceof Date && (accept === OVER || peppers !== 'none') ? new Date(until).getTime() : Number.NaN;
  expect(!Number.isNaN(end), 'insecureAcceptUnpeppered: pass { until: Date }, beside peppers');
  const [format, known] = [keyFormat(given.prefix), new Set(catalog.all)];
  const store = guardStore(given.store, whole(storeTimeoutMs, 1, 600_000, 'storeTimeoutMs'));
  const clock = () => readClock(now);
  const [schemes, usage] = [prepareSchemes(peppers), createUsage(store)];
  const withUnpeppered = [...schemes, ...prepareSchemes('none')] as const;
  const accepted = () => (end > 0 && clock() < end ? withUnpeppered : schemes);
  // A broken audit sink is its owner's to watch; it neither opens nor closes a door. What is thrown within an async
  // function is a rejection too.
  const emit = onEvent && ((event: KeyringEvent) => void (async () => onEvent(Object.freeze(event)))().catch(() => {}));
  return Object.freeze({ format, catalog, known, accepted, store, clock, random, tokens, checkParent, usage, emit });
}

// ── A store or a clock that breaks ────────────────────────────────────────────────────────────────────

// Whatever a store throws, rejects with, never answers or answers in the wrong shape becomes a `StoreError`: 503 and
// fail closed, never "bad key".

/** The time; throws rather than answer with what no deadline can be compared to. */
export function readClock(now: Clock): number {
  try {
    const time = now();
    // What a `Date` can hold (ECMA-262 §21.4.1.1).
    if (Number.isFinite(time) && Math.abs(time) <= 8.64e15) return Math.floor(time);
  } catch (cause) {
    throw new StoreError('the clock failed: see cause', cause);
  }
  throw new StoreError('the clock did not return a time');
}

const isSummary = (row: SchemeSummary | null) =>
  typeof row?.scheme === 'string' && [row.live, row.lastUsedAt ?? 0].every(Number.isSafeInteger);

/** Every method, and whether an answer has its shape. What stands in a record is for `readRecord` to say. */
// biome-ignore format: writes, then reads
const ANSWERS: Readonly<Record<keyof KeyStore, (answer: unknown, argument: unknown) => boolean>> = {
  insert: (answer) => answer !== false, markEnded: (wrote) => typeof wrote === 'boolean', touch: () => true,
  findByDigest: (rows) => Array.isArray(rows) && rows.findIndex((row) => Object(row) !== row) === -1,
  findById: (row, keyId) => row === null || Object(row).keyId === keyId,
  list: Array.isArray, summarize: (rows) => Array.isArray(rows) && rows.every(isSummary),
};

/**
 * The user's store as the operations see it: errors wrapped, answers awaited for at most `timeoutMs` and their
 * shape checked. A synchronous answer stays synchronous; every other becomes a native `Promise`.
 *
 * What a write did that timed out is unknown.
 */
export function guardStore(store: unknown, timeoutMs: number): KeyStore {
  const methods = store as Readonly<Record<string, (...args: unknown[]) => unknown>> | null | undefined;
  const guarded = Object.entries(ANSWERS).map(([name, holds]) => {
    const method = methods?.[name];
    expect(typeof method === 'function', `store: pass an object with the method ${name}; await a promise of one`);
    const broken = (how: string, cause?: unknown) => new StoreError(`store.${name} ${how}`, cause);
    const read = (answer: unknown, argument: unknown) =>
      holds(answer, argument) ? answer : raise(broken('broke its contract; see KeyStore'));
    const readInTime = (answer: unknown, argument: unknown) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(broken(`did not answer within ${timeoutMs} ms`)), timeoutMs);
        const settled = Promise.resolve(answer).then(resolve, (cause) => reject(broken('failed: see cause', cause)));
        settled.finally(() => clearTimeout(timer));
      }).then((value) => read(value, argument));
    const ask = (argument: unknown, second: unknown) => {
      let answer: unknown;
      try {
        answer = method.call(store, argument, second);
        if (typeof Object(answer).then === 'function') return readInTime(answer, argument);
      } catch (cause) {
        throw broken('failed: see cause', cause);
      }
      return read(answer, argument);
    };
    return [name, ask];
  });
  return Object.fromEntries(guarded);
}

// ── Events ────────────────────────────────────────────────────────────────────────────────────────────

type Told<Type, Id, More = unknown> = Readonly<{ type: Type; time: number; keyId: Id; entityUuid: Id } & More>;
type Denied = { operation: string } & { [F in 'code' | 'reason']: AccessError[F] | 'store_error' };

/**
 * What happened, for logs and audit trails; `type` tells which fields there are. Nothing in it derives from a key, a
 * header or a digest. Times are milliseconds since the epoch.
 */
export type KeyringEvent =
  | Told<'key.issued' | 'key.revoked', string>
  /** `keyId` is the successor; `rotatedFrom`, its predecessor, ends at `retireAt`. */
  | Told<'key.rotated', string, { rotatedFrom: string; retireAt: number }>
  /** `entityUuid` is the one that was addressed, and checked. */
  | Told<'access.granted', string, { operation: string }>
  /**
   * `keyId` is `null` where no key was recognised, `entityUuid` where what was addressed is no UUID. `store_error`: the
   * store or the clock is broken, and the answer was 503.
   */
  | Told<'access.denied', string | null, Denied>;

/** Told of each event as it happens; whatever it returns, throws or rejects with is dropped. */
export type EventListener = (event: KeyringEvent) => unknown;

// ── Authority ─────────────────────────────────────────────────────────────────────────────────────────

/** The second argument of every management call. It comes from the caller's own session, never from a request. */
export interface Authority {
  /** Whose keys these are; another entity's key is `not_found`. */
  readonly entityUuid: string;
  /** The entities that may be handed out, `entityUuid` always among them. Default: only `entityUuid`. */
  readonly entities?: readonly string[] | undefined;
  /** The scopes that may be handed out, patterns allowed. Left out: the whole catalog; `undefined` is refused. */
  readonly scopes?: readonly string[];
}

/** An {@link Authority}, checked and completed. */
export type Held = { readonly [F in keyof Required<Authority>]: NonNullable<Authority[F]> };

const INPUT = ['entityUuid', 'entities', 'scopes'] as const;

export function checkAuthority(authority: unknown): Held {
  // A default for what is left out, and for nothing else: `scopes: session.scoeps` is a mistake, and no ceiling.
  const { entityUuid, entities, scopes } = { scopes: ['*:*'], ...fields(authority, INPUT, 'authority') };
  expect(isUuid(entityUuid), 'authority.entityUuid: pass a UUID in lower case', entityUuid);
  return { entityUuid, entities: entityList(entityUuid, entities, 'authority.entities'), scopes: patterns(scopes) };
}

/** Throws where a key would carry more than its authority holds, and names the excess. */
export function requireCeiling(held: Held, key: Pick<KeyRecord, 'scopes' | 'accessibleEntities'>): void {
  const covered = coveredBy(new Set(held.scopes));
  const scopes = key.scopes.filter((scope) => !covered(scope));
  if (scopes.length > 0) throw new AccessError('ceiling_exceeded', 'scopes_beyond_authority', { excess: scopes });
  const excess = key.accessibleEntities.filter((entity) => !held.entities.includes(entity));
  if (excess.length > 0) throw new AccessError('ceiling_exceeded', 'entities_beyond_authority', { excess });
}

// ── Shared steps ──────────────────────────────────────────────────────────────────────────────────────

/** Makes a key, digests and seals it, and stores its record. */
export async function mint({ format, random, accepted, store }: Context, draft: Draft): Promise<IssuedKey> {
  const key = format.complete(drawEntropy(random));
  const [scheme] = accepted();
  const marks = { seal: null, revokedAt: null, retireAt: null, lastUsedAt: null, scopesUsed: Object.freeze({}) };
  const unsealed: KeyRecord = { ...draft, keyId: randomUuid(random), ...marks, digest: scheme.digest(key) };
  // A plain object, as every store can take it. Lists and tables are frozen already.
  const record = Object.freeze({ ...unsealed, seal: scheme.seal(sealedText(unsealed)) });
  await store.insert(record);
  return issuedKey(key, record);
}

/** A row, copied and frozen, where the key itself is at stake: a malformed one is refused as a broken seal is. */
export const readRow = (row: unknown): KeyRecord =>
  readRecord(row) ?? raise(new AccessError('invalid_token', 'record_tampered', { keyId: Object(row).keyId }));

/** A row to be shown: a malformed one is a broken store. Not checked: the seal. */
export const showRow = (row: unknown): KeyInfo =>
  toKeyInfo(readRecord(row) ?? raise(new StoreError('the store returned a malformed record')));

/** The row of an entity's key, unread. Another entity's key, an id that is no UUID, and no key at all are `null`. */
export async function findOwn({ store }: Context, by: { entityUuid: string }, id: unknown): Promise<KeyRecord | null> {
  expect(typeof id === 'string', 'keyId: pass a string', id);
  const row = isUuid(id) ? await store.findById(id) : null;
  return row?.entityUuid === by.entityUuid ? row : null;
}

/** The same, where there must be one. */
export const requireOwn = async (context: Context, by: Held, id: unknown): Promise<KeyRecord> =>
  (await findOwn(context, by, id)) ?? raise(new AccessError('not_found', 'no_such_key'));
