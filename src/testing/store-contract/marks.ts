/** The marks that tests write, and what a record is after them. */
import type { KeyRecord } from '../../core/record.js';
import type {
  Mark,
  ResumeMark,
  RetireMark,
  RevokeMark,
  SuspendMark,
  WithdrawMark,
} from '../../core/store.js';
import { applyMark } from '../../stores/marks.js';
import { check, show } from '../assertions.js';
import { randomHex } from './fixture.js';

/** Revokes, under a seal of its own. */
export function revokeAt(at: number): RevokeMark {
  return { kind: 'revoke', at, by: `revoker ${at}`, reason: 'leaked', seal: randomHex() };
}

/** Suspends. */
export function suspendAt(at: number): SuspendMark {
  return { kind: 'suspend', at, by: `doubter ${at}`, reason: 'in doubt' };
}

/** Retires what nobody withdrew from. */
export function retireAt(at: number): RetireMark {
  return { kind: 'retire', at, by: `rotator ${at}`, reason: 'rotated' };
}

/** Ends a suspension. */
export function resumeAt(at: number): ResumeMark {
  return { kind: 'resume', at };
}

/** Cuts an entity off. */
export function withdrawAt(at: number, entityUuid: string): WithdrawMark {
  return { kind: 'withdraw', at, entityUuid };
}

/** The record after marks, one after the other, each of which may be written. */
export function after(record: KeyRecord, ...marks: readonly Mark[]): KeyRecord {
  let current = record;
  for (const mark of marks) {
    const marked = applyMark(current, mark);
    check(marked !== null, `a test writes ${show(mark)} where it may not`);
    current = marked;
  }
  return current;
}

/** A mark that was sent, and what the store said. */
export interface SentMark {
  readonly mark: Mark;
  readonly wrote: boolean;
}

/**
 * The record after marks that were sent, had they been written one after the other in this order;
 * `null` if the store could not have given these answers then.
 */
export function replay(record: KeyRecord, sent: readonly SentMark[]): KeyRecord | null {
  let current = record;
  for (const { mark, wrote } of sent) {
    const marked = applyMark(current, mark);
    if ((marked !== null) !== wrote) return null;
    current = marked ?? current;
  }
  return current;
}
