/** Writes what happens to a key after it was made, and tells of it. */
import type { Context } from '../core/context.js';
import { AccessError, StoreError } from '../core/errors.js';
import type { KeyRecord } from '../core/record.js';
import type { Mark, RetireMark } from '../core/store.js';
import type { CheckedAuthority } from './authority.js';

/** All but the one of `rotate`, which is told as a rotation. */
type OwnMark = Exclude<Mark, RetireMark>;

const EVENTS = {
  revoke: 'key.revoked',
  suspend: 'key.suspended',
  resume: 'key.resumed',
  withdraw: 'key.withdrawn',
} as const;

/** More failures than this cannot be races with other calls: the store is not writing. */
const MAX_TRIES = 10;

/**
 * Writes a mark, and emits its event. False if another call was faster; if the row does not show
 * it, the store is broken and wrote nothing, and the caller must not be told that it did.
 */
export async function writeMark(
  context: Context,
  authority: CheckedAuthority,
  row: KeyRecord,
  mark: OwnMark,
): Promise<boolean> {
  const { keyId, entityUuid: owner } = row;
  const { entityUuid, actor, reason } = authority;
  // Retried, because another call may do the opposite between the two steps.
  for (let left = MAX_TRIES; !(await context.store.mark(keyId, mark)); left--) {
    const now = await context.store.findById(keyId, { fresh: true });
    if (now !== null && isMarked(now, mark.kind, entityUuid)) return false;
    if (left === 1) throw new StoreError('store.mark broke its contract; see KeyStore');
  }
  const type = EVENTS[mark.kind];
  const event = { time: mark.at, keyId, entityUuid: owner, actor, reason };
  if (type === 'key.withdrawn') {
    context.emit?.({ type, ...event, withdrawnEntity: entityUuid });
  } else context.emit?.({ type, ...event });
  return true;
}

/** Whether an unchecked row has the mark; throws if the key is revoked and cannot have it. */
function isMarked(row: KeyRecord, kind: OwnMark['kind'], entityUuid: string): boolean {
  const { revokedAt, suspendedAt, withdrawn } = row;
  if (kind === 'withdraw') return isIn(withdrawn, entityUuid);
  if (kind === 'revoke') return Number.isSafeInteger(revokedAt);
  if (revokedAt !== null) throw alreadyEnded(row.keyId);
  return (suspendedAt !== null) === (kind === 'suspend');
}

/** Whether a list of an unchecked row has the entity. */
export function isIn(list: unknown, entityUuid: string): boolean {
  return Array.isArray(list) && list.includes(entityUuid);
}

export function alreadyEnded(keyId: string): AccessError {
  return new AccessError('conflict', 'already_ended', { keyId });
}
