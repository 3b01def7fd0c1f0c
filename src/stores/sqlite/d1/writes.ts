/** The methods that write, each as one statement or one batch, which is a transaction. */
import type { Writes } from '../../reads-and-writes.js';
import { toValues } from '../../rows.js';
import { usageBatches } from '../../writes.js';
import { toMarkWrite } from '../marks.js';
import { STATEMENTS } from '../statements.js';
import type { D1Client } from './client.js';
import { atPrimary, isSendable, query } from './client.js';

export function createWrites(db: D1Client): Writes {
  return {
    async insert(record) {
      await query(db, STATEMENTS.insert, ...toValues(record));
    },

    // Counts rows: the changes that D1 reports may include those of the service's own triggers.
    async mark(keyId, mark) {
      if (!isSendable(keyId)) return false;
      const { statement, values } = toMarkWrite(keyId, mark);
      const rows = await query(db, `${STATEMENTS[statement]} RETURNING key_id`, ...values);
      return rows.length === 1;
    },

    // Few statements, because a request may send only 1,000, or 50 on the free plan; none larger
    // than 2 MB, the limit of a parameter.
    async touch(entries) {
      const session = atPrimary(db);
      const batches = usageBatches(entries, isSendable);
      const statements = batches.map((used) => session.prepare(STATEMENTS.touchAll).bind(used));
      if (statements.length > 0) await session.batch(statements);
    },
  };
}
