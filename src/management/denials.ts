/** Tells of refusals in the management of keys. */

import type { Context } from '../core/context.js';
import { isAccessError } from '../core/errors.js';
import type { ManagementAction } from '../core/events.js';
import { isUuid } from '../core/uuid.js';
import type { CheckedAuthority } from './authority.js';

/** Runs a management call; its refusal is emitted, and thrown on. */
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
