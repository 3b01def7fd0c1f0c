/** On whose behalf a key is managed, and the most that may be handed out on it. */
import { AccessError } from './errors.js';
import { entityList, expect, fields, isUuid, quote } from './input.js';
import type { KeyRecord } from './record.js';
import { coveredBy, patterns } from './scope.js';

/** The second argument of every management call. It comes from the caller's own session, never from a request. */
export interface Authority {
  /** Whose keys these are; another entity's key is `not_found`. */
  readonly entityUuid: string;
  /** The entities that may be handed out, `entityUuid` always among them. Default: only `entityUuid`. */
  readonly entities?: readonly string[] | undefined;
  /** The scopes that may be handed out, patterns allowed. Default: the whole catalog. */
  readonly scopes?: readonly string[] | undefined;
}

type Held = { readonly [F in keyof Required<Authority>]: NonNullable<Authority[F]> };

const INPUT = ['entityUuid', 'entities', 'scopes'] as const;

/** An {@link Authority}, checked, completed and copied. */
export function checkAuthority(authority: unknown): Held {
  const { entityUuid, entities, scopes = ['*:*'] } = fields(authority, INPUT, 'authority');
  expect(isUuid(entityUuid), `authority.entityUuid: pass a UUID in lower case, not ${quote(entityUuid)}`);
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
