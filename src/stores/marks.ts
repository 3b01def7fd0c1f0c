/**
 * The effect of each mark on a record, and its condition. The writes of every store follow this.
 */
import type { KeyRecord } from '../core/record.js';
import type { Mark } from '../core/store.js';

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
      return !withdrawn.includes(mark.entityUuid);
  }
}

/** Returns the fields that a mark sets, apart from `changedAt`. */
function changesOf(record: KeyRecord, mark: Mark): Partial<KeyRecord> {
  switch (mark.kind) {
    case 'revoke': {
      const { at, by, reason, seal } = mark;
      return { revokedAt: record.revokedAt ?? at, endedBy: by, endReason: reason, seal };
    }
    case 'suspend':
      return { suspendedAt: mark.at, endedBy: mark.by, endReason: mark.reason };
    case 'resume':
      return { suspendedAt: null, endedBy: null, endReason: null };
    case 'retire':
      return { retireAt: mark.retireAt, endedBy: mark.by, endReason: mark.reason };
    case 'withdraw':
      return { withdrawn: [...record.withdrawn, mark.entityUuid] };
  }
}
