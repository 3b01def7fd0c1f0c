/** The methods that write, each in a separate transaction. */
import type { Mark } from '../../core/store.js';
import { isText } from '../reads.js';
import { markValues, toValues, type Value } from '../rows.js';
import type { Writes } from '../writes.js';
import { inMain, type SqliteHandle, type SqliteStatement } from './client.js';
import { MARKS } from './marks.js';
import { STATEMENTS } from './statements.js';
import { writeWhenUnlocked } from './transactions.js';

/** How long usage waits for a lock: less than the 2 s that a keyring waits by default. */
const TOUCH_WAIT_MS = 900;

/** libsql would keep only the part of a text before a NUL. The core never sends one. */
function assertWhole(values: readonly Value[], method: string): readonly Value[] {
  const isWhole = values.every((value) => typeof value !== 'string' || isText(value));
  if (!isWhole) throw new Error(`keyscope: ${method}: a text contains a NUL. Leave it out`);
  return values;
}

/** Prepares each writing statement once. */
export function createWrites(db: SqliteHandle): Writes {
  const prepare = (sql: string) => db.prepare(inMain(sql));
  const insertOne = prepare(STATEMENTS.insert);
  const touchOne = prepare(STATEMENTS.touch);
  const marks: Readonly<Record<Mark['kind'], SqliteStatement>> = {
    revoke: prepare(MARKS.revoke),
    suspend: prepare(MARKS.suspend),
    retire: prepare(MARKS.retire),
    resume: prepare(MARKS.resume),
    withdraw: prepare(MARKS.withdraw),
  };

  return {
    insert(record, options) {
      const values = assertWhole(toValues(record), 'insert');
      const insertRow = () => void insertOne.run(...values);
      return writeWhenUnlocked(db, insertRow, { signal: options?.signal });
    },

    mark(keyId, mark, options) {
      if (!isText(keyId)) return false;
      const values = assertWhole(markValues(keyId, mark), 'mark');
      function markRow(): boolean {
        // Does not count rows that triggers write.
        const { changes } = marks[mark.kind].run(...values);
        return Number(changes) === 1;
      }
      return writeWhenUnlocked(db, markRow, { signal: options?.signal });
    },

    touch(entries) {
      function touchEach(): void {
        for (const { keyId, lastUsedAt, scopesUsed } of entries) {
          if (!isText(keyId)) continue;
          touchOne.run(lastUsedAt, lastUsedAt, JSON.stringify(scopesUsed), keyId);
        }
      }
      // One transaction for the batch: one disk sync, and never half a batch.
      return writeWhenUnlocked(db, touchEach, { waitMs: TOUCH_WAIT_MS });
    },
  };
}
