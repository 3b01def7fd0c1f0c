/** The methods that write. Each is one statement, or one transaction. */
import type { KeyRecord } from '../../core/record.js';
import { isUuid } from '../../core/uuid.js';
import { markValues, toValues, type Value } from '../rows.js';
import type { Writes } from '../writes.js';
import type { Connections, Session } from './client.js';
import { assertFits, assertMarkFits } from './columns.js';
import { INSERT, MARKS } from './statements.js';
import { touch } from './touch.js';
import { transact, withRetries, write } from './transactions.js';

/** The primary key and the digest's UNIQUE reject duplicates. */
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

/** Makes the writing half of a store. */
export function createWrites(connections: Connections): Writes {
  return {
    async insert(record) {
      assertFits(record);
      await insert(connections, record);
    },

    async mark(keyId, mark) {
      if (!isUuid(keyId)) return false;
      assertMarkFits(mark);
      const values = markValues(keyId, mark);
      const written = await write(connections, MARKS[mark.kind], values);
      return written === 1;
    },

    async touch(entries) {
      await touch(connections, entries);
    },
  };
}

// ── The entities that a key addresses ────────────────────────────────────────────────────────────

// A key's pairs are written in one transaction with the key, not by a trigger, because some servers
// have none.

/** Returns the entities that a key addresses in addition to its own. */
function guestsOf({ accessibleEntities, entityId }: KeyRecord): readonly string[] {
  return accessibleEntities.filter((entity) => entity !== entityId);
}

/** Writes the pairs of a key with these entities. A restored dump may already contain them. */
async function addPairs(
  session: Session,
  { prefix, createdAt, keyId }: KeyRecord,
  guests: readonly string[],
): Promise<void> {
  const pairs = guests.map(() => '(?, ?, ?, ?)').join(', ');
  const insert = `INSERT INTO keyscope_addressing (entity_id, prefix, created_at, key_id)
  VALUES ${pairs} ON DUPLICATE KEY UPDATE key_id = keyscope_addressing.key_id`;
  const values = guests.flatMap((entity): Value[] => [entity, prefix, createdAt, keyId]);
  await session.query(insert, values);
}
