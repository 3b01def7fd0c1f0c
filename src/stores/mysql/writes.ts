/** The methods that write. Each is one statement, or one transaction. */
import type { KeyRecord } from '../../core/record.js';
import { isUuid } from '../../core/uuid.js';
import type { Writes } from '../reads-and-writes.js';
import { toValues } from '../rows.js';
import { addPairs, guestsOf } from './addressing.js';
import { assertFits, assertMarkFits } from './columns.js';
import type { Connections } from './connections.js';
import { markStatement } from './marks.js';
import { INSERT } from './statements.js';
import { touch } from './touch.js';
import { transact, withRetries, write } from './transactions.js';

/** Duplicates are refused by the primary key and by the digest's UNIQUE. */
async function insert(connections: Connections, record: KeyRecord): Promise<void> {
  const values = toValues(record);
  const guests = guestsOf(record);
  if (guests.length === 0) {
    await write(connections, INSERT, values);
    return;
  }
  await withRetries(connections, (session) =>
    transact(session, async () => {
      await session.query(INSERT, values);
      await addPairs(session, record, guests);
    }),
  );
}

/** The writing half of a store. */
export function createWrites(connections: Connections): Writes {
  return {
    async insert(record) {
      assertFits(record);
      await insert(connections, record);
    },

    async mark(keyId, mark) {
      if (!isUuid(keyId)) return false;
      assertMarkFits(mark);
      const { sql, values } = markStatement(keyId, mark);
      const written = await write(connections, sql, values);
      return written === 1;
    },

    async touch(entries) {
      await touch(connections, entries);
    },
  };
}
