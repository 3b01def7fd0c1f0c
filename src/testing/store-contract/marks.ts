/** The marks that tests write, and the records that result. */
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

/** Revokes, with a new seal. */
export function revokeAt(at: number): RevokeMark {
  return { kind: 'revoke', at, by: `revoker ${at}`, reason: 'leaked', seal: randomHex() };
}

/** Suspends. */
export function suspendAt(at: number): SuspendMark {
  return { kind: 'suspend', at, by: `doubter ${at}`, reason: 'in doubt' };
}

/** Retires a key from which no entity has withdrawn. */
export function retireAt(at: number): RetireMark {
  return { kind: 'retire', at, retireAt: at, by: `rotator ${at}`, reason: 'rotated' };
}

/** Ends a suspension. */
export function resumeAt(at: number): ResumeMark {
  return { kind: 'resume', at };
}

/** Withdraws an entity. */
export function withdrawAt(at: number, entityId: string): WithdrawMark {
  return { kind: 'withdraw', at, entityId };
}

/** Returns the record after a sequence of marks. Throws if the condition of one does not hold. */
export function after(record: KeyRecord, ...marks: readonly Mark[]): KeyRecord {
  let current = record;
  for (const mark of marks) {
    const marked = applyMark(current, mark);
    check(marked !== null, `a bug in the suite: the condition of ${show(mark)} does not hold`);
    current = marked;
  }
  return current;
}

/** A mark that a test sent, and the store's answer. */
export interface SentMark {
  readonly mark: Mark;
  readonly wrote: boolean;
}

/**
 * Returns the record after writing the sent marks in this order, or `null` if the store's answers
 * do not fit this order.
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
