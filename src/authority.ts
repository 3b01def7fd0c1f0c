/** On whose behalf a key is managed, and the most that may be handed out on it. */
import { AccessError } from './errors.js';
import { entityList, fields, uuid } from './input.js';
import { isCovered, patterns } from './scope.js';

/** The second argument of every management call. It comes from the caller's own session, never from a request. */
export interface Authority {
  /** Whose keys these are; another entity's key is `not_found`. */
  readonly entityUuid: string;
  /** The entities that may be handed out, `entityUuid` always among them. Default: only `entityUuid`. */
  readonly entities?: readonly string[];
  /** The scopes that may be handed out, patterns allowed. Default: the whole catalog. */
  readonly scopes?: readonly string[];
}

/** An {@link Authority}, checked and copied; `ceiling` throws where more is handed out than it holds. */
export interface CheckedAuthority {
  readonly entityUuid: string;
  ceiling(scopes: readonly string[], entities: readonly string[]): void;
}

export function checkAuthority(authority: unknown): CheckedAuthority {
  const given = fields(authority, ['entityUuid', 'entities', 'scopes'], 'authority');
  const entityUuid = uuid(given.entityUuid, 'authority.entityUuid');
  const entities = new Set(entityList(entityUuid, given.entities, 'authority.entities'));
  const held = given.scopes === undefined ? null : new Set(patterns(given.scopes));
  return {
    entityUuid,
    ceiling(scopes, wanted) {
      const excessScopes = held === null ? [] : scopes.filter((scope) => !isCovered(held, scope));
      refuse(excessScopes, 'scopes_beyond_authority');
      refuse(
        wanted.filter((entity) => !entities.has(entity)),
        'entities_beyond_authority',
      );
    },
  };
}

function refuse(excess: readonly string[], reason: 'scopes_beyond_authority' | 'entities_beyond_authority'): void {
  if (excess.length > 0) throw new AccessError('ceiling_exceeded', reason, { excess });
}
