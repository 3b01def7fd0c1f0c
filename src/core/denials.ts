/** Tells of refusals in the management of keys. */
import type { CheckedAuthority } from './authority.js';
import type { Context } from './context.js';
import { isAccessError } from './errors.js';
import type { ManagementAction } from './events.js';
import { isUuid } from './uuid.js';

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
