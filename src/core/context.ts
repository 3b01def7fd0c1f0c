/**
 * What the operations share: the checked configuration of a keyring; a store and a clock that may
 * break; events; authority; and common steps.
 */
import type { Catalog } from './catalog.js';
import { AccessError } from './errors.js';
import { assert, raise, readEntities, readFields, readInteger } from './input.js';
import { keyFormat } from './key.js';
import { type Clock, guardStore, readClock } from './outage.js';
import { type Draft, type IssuedKey, issuedKey, type KeyRecord, sealedText } from './record.js';
import { coveredBy, readPatterns } from './scope.js';
import {
  drawEntropy,
  type Peppers,
  platformRandom,
  prepareSchemes,
  type RandomBytes,
  randomUuid,
} from './secret.js';
import type { KeyStore } from './store.js';
import type { TokenVerifier } from './tokens.js';
import { createUsage } from './usage.js';
import { isUuid } from './uuid.js';

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

// biome-ignore format: one line
const OPTIONS = ['prefix', 'catalog', 'store', 'peppers', 'tokens', 'checkParent', 'storeTimeoutMs',
  'insecureAcceptUnpeppered', 'now', 'random', 'onEvent'] as const;

/**
 * {@link KeyringOptions}, checked and completed: every operation is a function of this and of its
 * input. The store and the clock are guarded: they answer in time and in shape, or throw a
 * `StoreError`.
 */
export type Context = ReturnType<typeof createContext>;

export function createContext(options: KeyringOptions) {
  const given = readFields(options, OPTIONS, 'createKeyring') as unknown as KeyringOptions;
  const { catalog, peppers, tokens, checkParent = true, storeTimeoutMs = 2000 } = given;
  const {
    now = Date.now,
    random = platformRandom,
    onEvent,
    insecureAcceptUnpeppered: accept,
  } = given;
  for (const part of [
    now,
    random,
    onEvent === undefined ? now : onEvent,
    tokens === undefined ? now : tokens?.verify,
  ])
    assert(
      typeof part === 'function',
      'now, random, onEvent and tokens.verify: pass functions or leave them out',
    );
  assert(typeof catalog?.expand === 'function', 'catalog: pass what defineScopes returned');
  assert(typeof checkParent === 'boolean', 'checkParent: pass true or false');
  const until =
    accept === undefined
      ? new Date(0)
      : readFields(accept, ['until'], 'insecureAcceptUnpeppered').until;
  const end =
    until instanceof Date && !(accept && peppers === 'none')
      ? new Date(until).getTime()
      : Number.NaN;
  assert(!Number.isNaN(end), 'insecureAcceptUnpeppered: pass { until: Date }, beside peppers');
  // `known`: the scopes that exist.
  const [format, known] = [keyFormat(given.prefix), new Set(catalog.all)];
  const store = guardStore(given.store, readInteger(storeTimeoutMs, 1, 600_000, 'storeTimeoutMs'));
  const [schemes, usage, clock] = [
    prepareSchemes(peppers),
    createUsage(store),
    () => readClock(now),
  ];
  const withUnpeppered = [...schemes, ...prepareSchemes('none')] as const;
  // The schemes of the keys accepted now: for a time, also unpeppered ones. The first makes keys.
  const accepted = () => (end > 0 && clock() < end ? withUnpeppered : schemes);
  // Undefined if there is no listener: then no event is made. Watching a broken audit sink is its
  // owner's task; it neither admits nor denies anyone. Because the function is async, what the
  // listener throws is a rejection too.
  const emit =
    onEvent &&
    ((event: KeyringEvent) => void (async () => onEvent(Object.freeze(event)))().catch(() => {}));
  return Object.freeze({
    format,
    catalog,
    known,
    accepted,
    store,
    clock,
    random,
    tokens,
    checkParent,
    usage,
    emit,
  });
}

// ── Events ────────────────────────────────────────────────────────────────────────────────────────────

type Told<Type, Id, More = unknown> = Readonly<
  { type: Type; time: number; keyId: Id; entityUuid: Id } & More
>;
type Denied = { operation: string } & { [F in 'code' | 'reason']: AccessError[F] | 'store_error' };

/**
 * What happened, for logs and audit trails; `type` determines the fields. Nothing in it derives
 * from a key, a header or a digest. Times are milliseconds since the epoch.
 */
export type KeyringEvent =
  | Told<'key.issued' | 'key.revoked', string>
  /** `keyId` is the successor; `rotatedFrom`, its predecessor, ends at `retireAt`. */
  | Told<'key.rotated', string, { rotatedFrom: string; retireAt: number }>
  /** `entityUuid` is the entity that was addressed and checked. */
  | Told<'access.granted', string, { operation: string }>
  /**
   * `keyId` is `null` if no key was recognised. `entityUuid` is `null` if what was addressed is not
   * one UUID, or if nothing was addressed and nobody authenticated. `store_error`: the store or the
   * clock is broken, and the answer was 503.
   */
  | Told<'access.denied', string | null, Denied>;

/** Told of each event as it happens; whatever it returns, throws or rejects with is dropped. */
export type EventListener = (event: KeyringEvent) => unknown;

// ── Authority ─────────────────────────────────────────────────────────────────────────────────────────

/**
 * The last argument of every management call. It comes from the caller's own session, never from a
 * request.
 */
export interface Authority {
  /** Whose keys these are; another entity's key is `not_found`. */
  readonly entityUuid: string;
  /** The entities that may be granted; always includes `entityUuid`. Default: only `entityUuid`. */
  readonly entities?: readonly string[] | undefined;
  /**
   * The scopes that may be granted, patterns allowed. If absent, the whole catalog; `undefined` is
   * refused.
   */
  readonly scopes?: readonly string[];
}

/** An {@link Authority}, checked and completed. */
export type CheckedAuthority = {
  readonly [F in keyof Required<Authority>]: NonNullable<Authority[F]>;
};

const INPUT = ['entityUuid', 'entities', 'scopes'] as const;

export function checkAuthority(authority: unknown): CheckedAuthority {
  // A default only for an absent field: `scopes: session.scoeps` is a mistake, not an unlimited
  // authority.
  const { entityUuid, entities, scopes } = {
    scopes: ['*:*'],
    ...readFields(authority, INPUT, 'authority'),
  };
  assert(isUuid(entityUuid), 'authority.entityUuid: pass a UUID in lower case', entityUuid);
  return {
    entityUuid,
    entities: readEntities(entityUuid, entities, 'authority.entities'),
    scopes: readPatterns(scopes),
  };
}

/**
 * Throws if a key would have more than its authority, and names all of the excess: scopes, then
 * entities.
 */
export function requireCeiling(
  held: CheckedAuthority,
  key: Pick<KeyRecord, 'scopes' | 'accessibleEntities'>,
): void {
  const covered = coveredBy(new Set(held.scopes));
  const scopes = key.scopes.filter((scope) => !covered(scope));
  const excess = [
    ...scopes,
    ...key.accessibleEntities.filter((entity) => !held.entities.includes(entity)),
  ];
  const reason = scopes.length > 0 ? 'scopes_beyond_authority' : 'entities_beyond_authority';
  if (excess.length > 0) throw new AccessError('ceiling_exceeded', reason, { excess });
}

// ── Shared steps ──────────────────────────────────────────────────────────────────────────────────────

/** Makes a key, digests and seals it, and stores its record. */
export async function mint(
  { format, random, accepted, store }: Context,
  draft: Draft,
): Promise<IssuedKey> {
  const key = format.complete(drawEntropy(random));
  const [scheme] = accepted();
  const marks = {
    seal: null,
    revokedAt: null,
    retireAt: null,
    lastUsedAt: null,
    scopesUsed: Object.freeze({}),
  };
  const unsealed: KeyRecord = {
    ...draft,
    keyId: randomUuid(),
    ...marks,
    digest: scheme.digest(key),
  };
  // A plain object, which every store can accept. Lists and tables are frozen already.
  const record = Object.freeze({ ...unsealed, seal: scheme.seal(sealedText(unsealed)) });
  await store.insert(record);
  return issuedKey(key, record);
}

/**
 * The unchecked row of an entity's key; `null` for another entity's key, an id that is not a UUID,
 * or no key.
 */
export async function findOwn(
  { store }: Context,
  by: { entityUuid: string },
  id: unknown,
): Promise<KeyRecord | null> {
  assert(typeof id === 'string', 'keyId: pass a string', id);
  const row = isUuid(id) ? await store.findById(id) : null;
  return row?.entityUuid === by.entityUuid ? row : null;
}

/** The same, but throws if there is none. */
export const requireOwn = async (
  context: Context,
  by: CheckedAuthority,
  id: unknown,
): Promise<KeyRecord> =>
  (await findOwn(context, by, id)) ?? raise(new AccessError('not_found', 'no_such_key'));
