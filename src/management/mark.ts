/** Writes marks, the changes to a key after it was made, and emits their events. */
import type { Context } from '../core/context.js';
import { AccessError, StoreError } from '../core/errors.js';
import type { KeyRecord } from '../core/record.js';
import type { Mark, ResumeMark, SuspendMark, WithdrawMark } from '../core/store.js';
import type { CheckedAuthority } from './authority.js';
import { readFresh } from './find.js';
import { tell } from './trail.js';

/** The marks that can be undone or that remove only one entity. The others are in `revoke.ts`. */
type OwnMark = SuspendMark | ResumeMark | WithdrawMark;

/** The event of such a mark. */
type OwnEvent =
  | { readonly type: 'key.suspended' | 'key.resumed' }
  | { readonly type: 'key.withdrawn'; readonly withdrawnEntity: string };

/** This many failures cannot all be races with other calls: the store is not writing. */
const MAX_TRIES = 10;

/**
 * Writes a mark unless the row already has it, and emits its event. Returns false if the row has
 * it. `confirm` runs after the write and before the event.
 */
export async function writeMark(
  context: Context,
  authority: CheckedAuthority,
  row: KeyRecord,
  mark: OwnMark,
  event: OwnEvent,
  confirm: () => Promise<void> = async () => {},
): Promise<boolean> {
  const isDone = (now: KeyRecord): boolean => isMarked(now, mark.kind, authority.entityId);
  const wrote = await markUntil(context, row, isDone, () => mark);
  if (wrote === null) return false;
  await confirm();
  tell(context, authority, row, mark.at, event);
  return true;
}

/** A mark that was written, and the row as it was read before. */
interface Written<M extends Mark> {
  readonly mark: M;
  readonly row: KeyRecord;
}

/**
 * Writes a mark and returns it, or returns null once the row shows that the mark is unnecessary. If
 * another call was faster, it reads the row again and calls `markOf` again. If the row never shows
 * a mark, the store is broken and wrote nothing: the caller must get an error, not a success.
 */
export async function markUntil<M extends Mark>(
  context: Context,
  row: KeyRecord,
  isDone: (row: KeyRecord) => boolean,
  markOf: (row: KeyRecord) => M,
): Promise<Written<M> | null> {
  let last = row;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const mark = markOf(last);
    if (await context.store.mark(row.keyId, mark)) return { mark, row: last };
    const now = await readFresh(context, row.keyId);
    if (now !== null && isDone(now)) return null;
    last = now ?? last;
  }
  throw new StoreError('store.mark broke its contract; see KeyStore');
}

/** Checks whether an unchecked row has the mark. Throws if the key is revoked and cannot get it. */
function isMarked(row: KeyRecord, kind: OwnMark['kind'], entityId: string): boolean {
  const { revokedAt, suspendedAt, withdrawn } = row;
  if (kind === 'withdraw') return isIn(withdrawn, entityId);
  if (revokedAt !== null) throw alreadyEnded(row.keyId);
  return (suspendedAt !== null) === (kind === 'suspend');
}

/** Checks whether a list of an unchecked row contains the entity. */
export function isIn(list: unknown, entityId: string): boolean {
  return Array.isArray(list) && list.includes(entityId);
}

export function alreadyEnded(keyId: string): AccessError {
  return new AccessError('conflict', 'already_ended', { keyId });
}
