/** The authority of a management call: for which entity it acts, and which rights it may grant. */
import { type EntityKind, readEntities } from '../core/entity.js';
import { AccessError, type DenialReason } from '../core/errors.js';
import { assert, readFields, readInput, readMaxLifetime, readText } from '../core/input.js';
import { isCovered, readPatterns } from '../core/scope.js';
import { timeOf } from '../core/times.js';
import { isUuid } from '../core/uuid.js';

/**
 * The authority of a management call, its last argument. Build it from the caller's session, never
 * from the request. Only `reason` may be text that a person typed.
 */
export interface Authority {
  /** The entity that owns the keys. Another entity's key is `not_found`. */
  readonly entityId: string;
  /** The entities that the call may grant. Always includes `entityId`. Default: only that one. */
  readonly entities?: readonly string[] | undefined;
  /** Who acts: 1 to 200 characters, without API keys. Stored on the record and in every event. */
  readonly actor?: string | undefined;
  /** Why: 1 to 200 characters, without API keys. Stored on the record and in every event. */
  readonly reason?: string | undefined;
  /**
   * The id of the key that makes the call, if a key makes it. To issue, rotate or resume, it must
   * be a live key of this entity. The keys that it issues end with it (`revokeLineage`), expire no
   * later, and issue none themselves. It rotates only its own chain, and resumes only those keys.
   */
  readonly keyId?: string | undefined;
}

/** An authority that may also grant rights. `issue` and `rotate` require it. */
export interface GrantAuthority extends Authority {
  /**
   * The scopes that the call may grant. Patterns are allowed; `'all'` is the whole catalog. For an
   * authority in a variable, write `['*:*']`, because TypeScript reads `'all'` as `string` there.
   */
  readonly scopes: readonly string[] | 'all';
  /**
   * The longest lifetime of a key, in milliseconds from now. The keyring may have a lower limit.
   */
  readonly maxLifetimeMs?: number | undefined;
  /** The latest time at which a key may expire, for an authority that ends itself. */
  readonly notAfter?: Date | undefined;
}

const FIELDS = [
  'entityId',
  'entities',
  'actor',
  'reason',
  'keyId',
  'scopes',
  'maxLifetimeMs',
  'notAfter',
] as const satisfies readonly (keyof GrantAuthority)[];

/** Who acts and why; null if not given. */
interface Said {
  readonly by: string | null;
  readonly reason: string | null;
}

/** An {@link Authority}, checked and with defaults filled in. */
export interface CheckedAuthority {
  readonly entityId: string;
  /** Always contains `entityId`. */
  readonly entities: readonly string[];
  readonly actor: string | undefined;
  readonly reason: string | undefined;
  /** The key that makes the call; null if no key does. */
  readonly keyId: string | null;
  /** Who and why, in the form that marks use. */
  readonly said: Said;
  /** Patterns; null if the call may grant no scopes. */
  readonly scopes: readonly string[] | null;
  /** Infinite for unlimited. */
  readonly maxLifetimeMs: number;
  /** Milliseconds since the epoch; infinite for unlimited. */
  readonly notAfter: number;
}

/** A checked {@link GrantAuthority}. */
export interface CheckedGrant extends CheckedAuthority {
  readonly scopes: readonly string[];
}

export function readAuthority(kind: EntityKind, authority: unknown): CheckedAuthority {
  assert(authority !== undefined, 'authority: pass it last; pass the input first, or {}');
  const given = readFields(authority, FIELDS, 'authority');
  const { entityId, entities, keyId = null } = given;
  const actor = readOptionalText(given.actor, 'authority.actor');
  const reason = readInput(given, 'reason', readOptionalText);
  assert(kind.holds(entityId), `authority.entityId: ${kind.instead}`, entityId);
  assert(keyId === null || isUuid(keyId), 'authority.keyId: pass a UUID in lower case', keyId);
  return {
    entityId,
    entities: readEntities(kind, entityId, entities, 'authority.entities'),
    actor,
    reason,
    keyId,
    said: { by: actor ?? null, reason: reason ?? null },
    // Absent is not the same as undefined: `scopes: session.scoeps` is a mistake in every call.
    scopes: Object.hasOwn(given, 'scopes') ? readScopes(given.scopes) : null,
    maxLifetimeMs: readMaxLifetime(given.maxLifetimeMs, 'authority.maxLifetimeMs'),
    notAfter: readNotAfter(given.notAfter),
  };
}

/** Reads the authority of a call that grants rights. Omitting `scopes` never grants everything. */
export function readGrantAuthority(kind: EntityKind, authority: unknown): CheckedGrant {
  const checked = readAuthority(kind, authority);
  const { scopes } = checked;
  assert(scopes !== null, "authority.scopes: list the scopes that this call may grant, or 'all'");
  return { ...checked, scopes };
}

/** Reads who acts, or why; undefined if not given. */
export function readOptionalText(value: unknown, what: string): string | undefined {
  return value === undefined ? undefined : readText(value, 200, what);
}

function readNotAfter(date: unknown): number {
  if (date === undefined) return Number.POSITIVE_INFINITY;
  const time = timeOf(date);
  assert(!Number.isNaN(time), 'authority.notAfter: pass a valid Date', date);
  return time;
}

function readScopes(scopes: unknown): readonly string[] {
  return readPatterns(scopes === 'all' ? ['*:*'] : scopes);
}

/** The rights of a key to be made. Times are milliseconds. */
interface Rights {
  readonly scopes: readonly string[];
  readonly accessibleEntities: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
}

/**
 * Throws if a key would have more rights than its authority, or live longer than any limit. The
 * error lists the whole excess: scopes, then entities, then `expiresAt`.
 */
export function requireCeiling(
  authority: CheckedGrant,
  key: Rights,
  keyringLifetimeMs: number,
): void {
  const held = new Set(authority.scopes);
  const allowed = new Set(authority.entities);
  const scopes = key.scopes.filter((scope) => !isCovered(scope, held));
  const entities = key.accessibleEntities.filter((entity) => !allowed.has(entity));
  const excess = [...scopes, ...entities];
  const longestMs = Math.min(authority.maxLifetimeMs, keyringLifetimeMs);
  const latest = Math.min(key.createdAt + longestMs, authority.notAfter);
  const isTooLong = (key.expiresAt ?? Number.POSITIVE_INFINITY) > latest;
  if (isTooLong) excess.push('expiresAt');
  const beyond = (reason: DenialReason, detail?: string): AccessError =>
    new AccessError('ceiling_exceeded', reason, { excess, detail });
  if (scopes.length > 0) throw beyond('scopes_beyond_authority');
  if (entities.length > 0) throw beyond('entities_beyond_authority');
  // `toJSON` returns null for a time that no Date can hold; `toISOString` would throw.
  const end = new Date(latest).toJSON();
  if (isTooLong) throw beyond('lifetime_beyond_authority', `expiresAt: pass at most ${end}.`);
}
