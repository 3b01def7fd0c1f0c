/**
 * What the operations stand on: configuration that `createKeyring` has checked, the events they tell of, authority, and
 * the steps they share.
 */
import type { Catalog } from './catalog.js';
import { AccessError, type AccessErrorCode, type DenialReason, StoreError } from './errors.js';
import { entityList, expect, fields, isUuid, raise } from './input.js';
import type { KeyFormat } from './key.js';
import type { Principal } from './principal.js';
import type { Draft, IssuedKey, KeyInfo, KeyRecord } from './record.js';
import { issuedKey, readRecord, sealRecord, toKeyInfo } from './record.js';
import { coveredBy, patterns } from './scope.js';
import { drawEntropy, type RandomBytes, randomUuid, type Scheme } from './secret.js';
import type { Awaitable, KeyStore } from './store.js';

/** Milliseconds since the epoch. */
export type Clock = () => number;

/** Verifies whatever a caller sent as a key: answers, or throws, at once where the store does. */
export type Verify = (key: unknown) => Awaitable<Principal>;

/** Verify's steps from seal to expired, for a record that was found by its id. */
export type Admit = (record: KeyRecord) => Principal;

/**
 * `record` notes that the key `id` exercised `scopes`; it never waits and never throws. `flush` writes what was noted;
 * it rejects with `StoreError`, and the batch is kept for the next attempt.
 */
export type UsageRecorder = { record(id: string, scopes: readonly string[], at: number): void; flush(): Promise<void> };

export interface Context {
  readonly format: KeyFormat;
  readonly catalog: Catalog;
  /** The scopes that exist. */
  readonly known: ReadonlySet<string>;
  /** The first digests new keys. */
  readonly schemes: readonly [Scheme, ...Scheme[]];
  /** Those under which keys are taken now: for a time, keys without a pepper beside peppered ones. */
  accepted(): readonly Scheme[];
  /** Guarded: answers in time and in shape, or throws a `StoreError`. */
  readonly store: KeyStore;
  /** Guarded likewise. */
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** Undefined where nobody listens: then no event is made. */
  readonly emit: ((event: KeyringEvent) => void) | undefined;
}

// ── Events ────────────────────────────────────────────────────────────────────────────────────────────

/**
 * What happened, for logs and audit trails. Nothing in it derives from a key, a header or a digest. Times are milliseconds
 * since the epoch.
 */
export interface KeyringEvent {
  readonly type: 'key.issued' | 'key.revoked' | 'key.rotated' | 'access.granted' | 'access.denied';
  readonly time: number;
  /** The key concerned, of a rotation the successor; `null` where none was recognised. */
  readonly keyId: string | null;
  /** The key's entity, of an access the one addressed; `null` where that was no UUID. */
  readonly entityUuid: string | null;
  /** `key.rotated`: the predecessor, and when it ends. */
  readonly rotatedFrom?: string;
  readonly retireAt?: number;
  /** `access.*`. */
  readonly operation?: string;
  /** `access.denied`; `store_error` where the store or the clock is broken, and the answer was 503. */
  readonly code?: AccessErrorCode | 'store_error';
  readonly reason?: DenialReason | 'store_error';
}

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

type Held = { readonly [F in keyof Required<Authority>]: NonNullable<Authority[F]> };

const INPUT = ['entityUuid', 'entities', 'scopes'] as const;

/** An {@link Authority}, checked, completed and copied. */
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

/** Makes a key and stores its record. */
export async function mint({ format, random, schemes, store }: Context, draft: Draft): Promise<IssuedKey> {
  const key = format.complete(drawEntropy(random));
  const record = sealRecord({ ...draft, keyId: randomUuid(random) }, key, schemes[0]);
  await store.insert(record);
  return issuedKey(key, record);
}

/** A row, copied and frozen, where the key itself is at stake: a malformed one is refused as a broken seal is. */
export const readRow = (row: unknown): KeyRecord =>
  readRecord(row) ?? raise(new AccessError('invalid_token', 'record_tampered'));

/** A row to be shown: a malformed one is a broken store. Not checked: the seal. */
export const showRow = (row: unknown): KeyInfo =>
  toKeyInfo(readRecord(row) ?? raise(new StoreError('the store returned a malformed record')));

/** The earlier of two times, where `null` is never. */
export const earliest = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);

/** The row of an entity's key, unread. Another entity's key, an id that is no UUID, and no key at all are `null`. */
export async function findOwn({ store }: Context, id: unknown, by: { entityUuid: string }): Promise<KeyRecord | null> {
  expect(typeof id === 'string', 'keyId: pass a string', id);
  const row = isUuid(id) ? await store.findById(id) : null;
  return row?.entityUuid === by.entityUuid ? row : null;
}

/** The same, where there must be one. */
export const requireOwn = async (context: Context, id: unknown, by: { entityUuid: string }): Promise<KeyRecord> =>
  (await findOwn(context, id, by)) ?? raise(new AccessError('not_found', 'no_such_key'));
