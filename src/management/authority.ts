/** On whose behalf keys are managed, and which rights may be handed out. */
import { AccessError, type DenialReason } from '../core/errors.js';
import {
  assert,
  readEntities,
  readFields,
  readInput,
  readMaxLifetime,
  readText,
} from '../core/input.js';
import { isCovered, readPatterns } from '../core/scope.js';
import { isUuid } from '../core/uuid.js';

/**
 * The last argument of every management call. It comes from the caller's own session, never from a
 * request; only `reason` may be what a person typed.
 */
export interface Authority {
  /** Whose keys these are; another entity's key is `not_found`. */
  readonly entityUuid: string;
  /** The entities that may be granted; always includes `entityUuid`. Default: only `entityUuid`. */
  readonly entities?: readonly string[] | undefined;
  /** Who acts: 1 to 200 characters, without API keys, kept on the record and in every event. */
  readonly actor?: string | undefined;
  /** Why: 1 to 200 characters, kept likewise. */
  readonly reason?: string | undefined;
  /**
   * The key on whose authority this is done, if it is one: what is issued or rotated on its
   * strength ends with it (`revokeLineage`). It has to be a live key of this entity.
   */
  readonly keyId?: string | undefined;
}

/** The authority of whoever may hand out rights, which `issue` and `rotate` require. */
export interface GrantAuthority extends Authority {
  /** The scopes that may be granted, patterns allowed; `'all'` is the whole catalog. */
  readonly scopes: readonly string[] | 'all';
  /** The longest life of a key, in milliseconds from now. The keyring may have a lower one. */
  readonly maxLifetimeMs?: number | undefined;
}

const FIELDS = [
  'entityUuid',
  'entities',
  'actor',
  'reason',
  'keyId',
  'scopes',
  'maxLifetimeMs',
] as const satisfies readonly (keyof GrantAuthority)[];

/** Who acts and why; null if nobody said. */
interface Said {
  readonly by: string | null;
  readonly reason: string | null;
}

/** An {@link Authority}, checked and completed. */
export interface CheckedAuthority {
  readonly entityUuid: string;
  /** Always contains `entityUuid`. */
  readonly entities: readonly string[];
  readonly actor: string | undefined;
  readonly reason: string | undefined;
  /** The key on whose authority this is done; null if it is none. */
  readonly keyId: string | null;
  /** Who and why, as marks have it. */
  readonly said: Said;
  /** Patterns; null if no scopes may be handed out. */
  readonly scopes: readonly string[] | null;
  readonly maxLifetimeMs: number | null;
}

/** The same of a {@link GrantAuthority}. */
export interface CheckedGrant extends CheckedAuthority {
  readonly scopes: readonly string[];
}

const WHOLE_CATALOG: readonly string[] = ['*:*'];
const MAX_REASON_LENGTH = 200;

export function readAuthority(authority: unknown): CheckedAuthority {
  const given = readFields(authority, FIELDS, 'authority');
  const { entityUuid, entities, keyId = null } = given;
  const actor = readOptionalText(given.actor, 'authority.actor');
  const reason = readInput(given, 'reason', readOptionalText);
  assert(isUuid(entityUuid), 'authority.entityUuid: pass a UUID in lower case', entityUuid);
  assert(keyId === null || isUuid(keyId), 'authority.keyId: pass the id of a key', keyId);
  return {
    entityUuid,
    entities: readEntities(entityUuid, entities, 'authority.entities'),
    actor,
    reason,
    keyId,
    said: { by: actor ?? null, reason: reason ?? null },
    // Absent differs from undefined: `scopes: session.scoeps` is a mistake in every call.
    scopes: Object.hasOwn(given, 'scopes') ? readScopes(given.scopes) : null,
    maxLifetimeMs: readMaxLifetime(given.maxLifetimeMs, 'authority.maxLifetimeMs'),
  };
}

/** The same for what hands out rights: nobody grants a whole catalog by leaving something out. */
export function readGrantAuthority(authority: unknown): CheckedGrant {
  const checked = readAuthority(authority);
  const { scopes } = checked;
  assert(scopes !== null, "authority.scopes: say which scopes may be granted, or 'all'");
  return { ...checked, scopes };
}

/** Reads who acts or why; undefined if nobody said. */
export function readOptionalText(value: unknown, what: string): string | undefined {
  return value === undefined ? undefined : readText(value, MAX_REASON_LENGTH, what);
}

function readScopes(scopes: unknown): readonly string[] {
  return scopes === 'all' ? WHOLE_CATALOG : readPatterns(scopes);
}

/** What a key would carry. Times are milliseconds. */
interface Rights {
  readonly scopes: readonly string[];
  readonly accessibleEntities: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
}

/**
 * Throws if a key would have more than its authority or live longer than one of the limits, and
 * names all of the excess: scopes, then entities, then `expiresAt`.
 */
export function requireCeiling(
  authority: CheckedGrant,
  key: Rights,
  keyringLifetimeMs: number | null,
): void {
  const held = new Set(authority.scopes);
  const allowed = new Set(authority.entities);
  const limits = [authority.maxLifetimeMs, keyringLifetimeMs];
  const scopes = key.scopes.filter((scope) => !isCovered(scope, held));
  const entities = key.accessibleEntities.filter((entity) => !allowed.has(entity));
  const isTooLong = limits.some((limit) => livesBeyond(key, limit));
  const excess = [...scopes, ...entities];
  if (isTooLong) excess.push('expiresAt');
  if (excess.length === 0) return;
  throw new AccessError('ceiling_exceeded', reasonFor(scopes, entities), { excess });
}

function livesBeyond({ createdAt, expiresAt }: Rights, limitMs: number | null): boolean {
  if (limitMs === null) return false;
  return expiresAt === null || expiresAt - createdAt > limitMs;
}

function reasonFor(scopes: readonly string[], entities: readonly string[]): DenialReason {
  if (scopes.length > 0) return 'scopes_beyond_authority';
  return entities.length > 0 ? 'entities_beyond_authority' : 'lifetime_beyond_authority';
}
