/** On whose behalf a key is managed, and the most that may be handed out on it. */
import { AccessError } from './errors.js';
import { entityList, expect, fields, isUuid, quote } from './input.js';
import { isCovered, patterns } from './scope.js';

/** The second argument of every management call. It comes from the caller's own session, never from a request. */
export interface Authority {
  /** Whose keys these are; another entity's key is `not_found`. */
  readonly entityUuid: string;
  /** The entities that may be handed out, `entityUuid` always among them. Default: only `entityUuid`. */
  readonly entities?: readonly string[] | undefined;
  /** The scopes that may be handed out, patterns allowed. Default: the whole catalog. */
  readonly scopes?: readonly string[] | undefined;
}

/** An {@link Authority}, checked and copied; `ceiling` throws where more is handed out than it holds. */
export interface Ceiling {
  readonly entityUuid: string;
  ceiling(scopes: readonly string[], accessible: readonly string[]): void;
}

export function checkAuthority(authority: unknown): Ceiling {
  const given = fields(authority, ['entityUuid', 'entities', 'scopes'], 'authority');
  const { entityUuid } = given;
  expect(isUuid(entityUuid), `authority.entityUuid: pass a UUID in lower case, not ${quote(entityUuid)}`);
  const entities = new Set(entityList(entityUuid, given.entities, 'authority.entities'));
  const held = new Set(patterns(given.scopes ?? ['*:*']));

  function ceiling(scopes: readonly string[], accessible: readonly string[]): void {
    const beyond = scopes.filter((scope) => !isCovered(held, scope));
    if (beyond.length > 0) throw new AccessError('ceiling_exceeded', 'scopes_beyond_authority', { excess: beyond });
    const excess = accessible.filter((entity) => !entities.has(entity));
    if (excess.length > 0) throw new AccessError('ceiling_exceeded', 'entities_beyond_authority', { excess });
  }
  return { entityUuid, ceiling };
}
