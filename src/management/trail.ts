/** The events of management calls that are not marks: new keys, and refusals. */
import type { Context } from '../core/context.js';
import { isAccessError } from '../core/errors.js';
import type { ManagementAction } from '../core/events.js';
import type { KeyRecord } from '../core/record.js';
import { isUuid } from '../core/uuid.js';
import type { CheckedAuthority } from './authority.js';

/** The origin of a key, for its event. */
type Origin =
  | { readonly type: 'key.issued' }
  | { readonly type: 'key.rotated'; readonly rotatedFrom: string; readonly retireAt: number };

/** Emits the event of a new key. */
export function tellGrant(
  context: Context,
  { actor, reason }: CheckedAuthority,
  record: KeyRecord,
  origin: Origin,
): void {
  const { createdAt: time, keyId, entityUuid, scopes, accessibleEntities, expiresAt } = record;
  context.emit?.({
    ...origin,
    time,
    keyId,
    entityUuid,
    scopes,
    accessibleEntities,
    expiresAt,
    actor,
    reason,
  });
}

/** Runs a management call. If it is refused, emits the event and rethrows the error. */
export async function tellDenial<T>(
  context: Context,
  action: ManagementAction,
  authority: CheckedAuthority,
  keyId: unknown,
  run: () => Promise<T>,
): Promise<T> {
  const time = context.clock();
  try {
    return await run();
  } catch (error) {
    if (isAccessError(error)) {
      const { entityUuid, actor, reason } = authority;
      context.emit?.({
        type: 'management.denied',
        time,
        keyId: isUuid(keyId) ? keyId : null,
        entityUuid,
        action,
        code: error.code,
        denialReason: error.reason,
        excess: error.excess,
        actor,
        reason,
      });
    }
    throw error;
  }
}
