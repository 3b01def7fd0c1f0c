/**
 * The effect of each mark on a record, and its condition. The writes of every store follow this.
 */
import type { KeyRecord } from '../core/record.js';
import type { Mark, WithdrawMark } from '../core/store.js';

/** Returns the marked record, or `null` if the mark's condition does not hold. */
export function applyMark(record: KeyRecord, mark: Mark): KeyRecord | null {
  if (!canBeMarked(record, mark)) return null;
  if (mark.kind !== 'withdraw') return { ...record, ...changesOf(mark) };
  const withdrawn = [...record.withdrawn, mark.entityUuid];
  return { ...record, withdrawn, changedAt: mark.at };
}

function canBeMarked(record: KeyRecord, mark: Mark): boolean {
  const { revokedAt, suspendedAt, retireAt, withdrawn, seal } = record;
  switch (mark.kind) {
    case 'revoke':
      return revokedAt === null || (seal !== null && seal === mark.replaces);
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

/**
 * Returns the fields that a mark sets, whatever their values were. A withdrawal is different: it
 * adds to a list.
 */
export function changesOf(mark: Exclude<Mark, WithdrawMark>): Partial<KeyRecord> {
  const { at } = mark;
  switch (mark.kind) {
    case 'revoke': {
      const { by, reason, seal } = mark;
      return { revokedAt: at, changedAt: at, endedBy: by, endReason: reason, seal };
    }
    case 'suspend':
      return { suspendedAt: at, changedAt: at, endedBy: mark.by, endReason: mark.reason };
    case 'resume':
      return { suspendedAt: null, changedAt: at, endedBy: null, endReason: null };
    case 'retire': {
      const { changedAt = at, by, reason } = mark;
      return { retireAt: at, changedAt, endedBy: by, endReason: reason };
    }
  }
}
