/**
 * The effect of each mark on a record, and its condition. The writes of every store follow this.
 */
import type { KeyRecord } from '../core/record.js';
import type { Mark, WithdrawMark } from '../core/store.js';

/** Returns the marked record, or `null` if the mark's condition does not hold. */
export function applyMark(record: KeyRecord, mark: Mark): KeyRecord | null {
  if (!canBeMarked(record, mark)) return null;
  // The later one, because the clocks of processes differ.
  const changedAt = Math.max(record.changedAt ?? mark.at, mark.at);
  return { ...record, ...changesOf(record, mark), changedAt };
}

function canBeMarked(record: KeyRecord, mark: Mark): boolean {
  const { revokedAt, suspendedAt, retireAt, withdrawn, seal } = record;
  switch (mark.kind) {
    case 'revoke': {
      const { replaces = null } = mark;
      return replaces === null ? revokedAt === null : revokedAt !== null && seal === replaces;
    }
    case 'suspend':
      return revokedAt === null && suspendedAt === null;
    case 'resume':
      return revokedAt === null && suspendedAt !== null;
    case 'retire': {
      const isUnmarked = revokedAt === null && suspendedAt === null && retireAt === null;
      return isUnmarked && withdrawn.join() === (mark.withdrawn ?? []).join();
    }
    case 'withdraw':
      return !withdrawn.includes(mark.entityId);
  }
}

/** Returns the fields that a mark sets, apart from `changedAt`. */
function changesOf(record: KeyRecord, mark: Mark): Partial<KeyRecord> {
  if (mark.kind === 'withdraw') return { withdrawn: [...record.withdrawn, mark.entityId] };
  if (mark.kind !== 'revoke') return fieldsOf(mark);
  return { ...fieldsOf(mark), revokedAt: record.revokedAt ?? mark.at };
}

/** Returns the fields that a mark sets on any record, without those that depend on its values. */
export function fieldsOf(mark: Exclude<Mark, WithdrawMark>): Partial<KeyRecord> {
  switch (mark.kind) {
    case 'revoke':
      return { endedBy: mark.by, endReason: mark.reason, seal: mark.seal };
    case 'suspend':
      return { suspendedAt: mark.at, endedBy: mark.by, endReason: mark.reason };
    case 'resume':
      return { suspendedAt: null, endedBy: null, endReason: null };
    case 'retire':
      return { retireAt: mark.retireAt, endedBy: mark.by, endReason: mark.reason };
    default:
      throw new TypeError('mark: kind: pass revoke, suspend, resume, retire or withdraw');
  }
}
