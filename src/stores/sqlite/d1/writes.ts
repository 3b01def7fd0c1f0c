/** The methods that write, each as one statement or one batch, which is a transaction. */
import { isWholeText } from '../../reads.js';
import { markValues, toValues } from '../../rows.js';
import { usageBatches, type Writes } from '../../writes.js';
import { MARKS } from '../marks.js';
import { STATEMENTS } from '../statements.js';
import type { D1Client } from './client.js';
import { atPrimary, query } from './client.js';

export function createWrites(db: D1Client): Writes {
  return {
    async insert(record) {
      await query(db, STATEMENTS.insert, ...toValues(record));
    },

    // Counts rows: the changes that D1 reports may include those of the service's own triggers.
    async mark(keyId, mark) {
      if (!isWholeText(keyId)) return false;
      const values = markValues(keyId, mark);
      const rows = await query(db, `${MARKS[mark.kind]} RETURNING key_id`, ...values);
      return rows.length === 1;
    },

    // Few statements, because a request may send only 1,000, or 50 on the free plan. None is larger
    // than 2 MB, the limit of a parameter.
    async touch(entries) {
      const session = atPrimary(db);
      const batches = usageBatches(entries, isWholeText);
      const statements = batches.map((used) => session.prepare(STATEMENTS.touchAll).bind(used));
      if (statements.length > 0) await session.batch(statements);
    },
  };
}
