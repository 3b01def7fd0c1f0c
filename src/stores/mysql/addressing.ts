/**
 * The pairs of keys and of the entities that they address beside their own. They are written in
 * one transaction with the key: not by a trigger, which not every server has.
 */
import type { KeyRecord } from '../../core/record.js';
import type { Value } from '../rows.js';
import type { Session } from './connections.js';
import { placesFor } from './statements.js';

/** The entities that a key addresses beside its own. */
export function guestsOf({ accessibleEntities, entityUuid }: KeyRecord): readonly string[] {
  return accessibleEntities.filter((entity) => entity !== entityUuid);
}

/** Writes the pairs of a key with these entities. They may be there before, from a dump. */
export async function addPairs(
  session: Session,
  { prefix, createdAt, keyId }: KeyRecord,
  guests: readonly string[],
): Promise<void> {
  const pairs = guests.map(() => '(?, ?, ?, ?)').join(', ');
  const insert = `INSERT INTO keyscope_addressing (entity_uuid, prefix, created_at, key_id)
  VALUES ${pairs} ON DUPLICATE KEY UPDATE key_id = keyscope_addressing.key_id`;
  const values = guests.flatMap((entity): Value[] => [entity, prefix, createdAt, keyId]);
  await session.query(insert, values);
}

/** Deletes the pairs of keys. */
export async function removePairs(session: Session, keyIds: readonly string[]): Promise<void> {
  const places = placesFor(keyIds);
  await session.query(`DELETE FROM keyscope_addressing WHERE key_id IN (${places})`, keyIds);
}
