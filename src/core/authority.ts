/** On whose behalf keys are managed, and which rights may be handed out. */
import { AccessError } from './errors.js';
import { assert, readEntities, readFields } from './input.js';
import type { KeyRecord } from './record.js';
import { isCovered, readPatterns } from './scope.js';
import { isUuid } from './uuid.js';

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
export interface CheckedAuthority {
  readonly entityUuid: string;
  /** Always contains `entityUuid`. */
  readonly entities: readonly string[];
  /** Patterns. */
  readonly scopes: readonly string[];
}

const WHOLE_CATALOG: readonly string[] = ['*:*'];

export function readAuthority(authority: unknown): CheckedAuthority {
  const given = readFields(authority, ['entityUuid', 'entities', 'scopes'], 'authority');
  const { entityUuid, entities } = given;
  assert(isUuid(entityUuid), 'authority.entityUuid: pass a UUID in lower case', entityUuid);
  // A default only for an absent field: `scopes: session.scoeps` is a mistake, not an unlimited
  // authority.
  const scopes = Object.hasOwn(given, 'scopes') ? given.scopes : WHOLE_CATALOG;
  return {
    entityUuid,
    entities: readEntities(entityUuid, entities, 'authority.entities'),
    scopes: readPatterns(scopes),
  };
}

/** What a key would carry. */
type Rights = Pick<KeyRecord, 'scopes' | 'accessibleEntities'>;

/**
 * Throws if a key would have more than its authority, and names all of the excess: scopes, then
 * entities.
 */
export function requireCeiling(authority: CheckedAuthority, key: Rights): void {
  const held = new Set(authority.scopes);
  const scopes = key.scopes.filter((scope) => !isCovered(scope, held));
  const entities = key.accessibleEntities.filter((entity) => !authority.entities.includes(entity));
  const excess = [...scopes, ...entities];
  if (excess.length === 0) return;
  const reason = scopes.length > 0 ? 'scopes_beyond_authority' : 'entities_beyond_authority';
  throw new AccessError('ceiling_exceeded', reason, { excess });
}
