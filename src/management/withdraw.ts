/** Takes an entity out of another entity's key: whom a key addresses can cut itself off. */
import type { Context } from '../core/context.js';
import { InputError } from '../core/errors.js';
import type { KeyRecord } from '../core/record.js';
import type { CheckedAuthority } from './authority.js';
import { findRow, foreignKey } from './find.js';
import { isIn, writeMark } from './mark.js';

export async function withdraw(
  context: Context,
  authority: CheckedAuthority,
  keyId: string,
): Promise<void> {
  const { entityUuid } = authority;
  const row = await findRow(context, keyId);
  if (row.entityUuid === entityUuid) {
    throw new InputError('keyId', 'keyId: this key is your own; revoke it, or rotate it narrower');
  }
  if (!isIn(row.accessibleEntities, entityUuid)) throw foreignKey();
  const mark = { kind: 'withdraw', at: context.clock(), entityUuid } as const;
  await writeMark(context, authority, row, mark);
  // A rotation that is under way loses against the mark; one that was finished left a successor.
  for (const next of await findSuccessors(context, row)) {
    const isReached =
      isIn(next.accessibleEntities, entityUuid) && !isIn(next.withdrawn, entityUuid);
    if (isReached) await writeMark(context, authority, next, mark);
  }
}

/** The keys of the same owner that were rotated from a key, or from one that was. */
async function findSuccessors(context: Context, row: KeyRecord): Promise<readonly KeyRecord[]> {
  const lineage = await context.store.listLineage(row.rootKeyId, { fresh: true });
  const found = new Set<string | null>([row.keyId]);
  // Those that are added meanwhile are looked at, too.
  for (const keyId of found) {
    for (const next of lineage) if (next.rotatedFrom === keyId) found.add(next.keyId);
  }
  const isNext = ({ rotatedFrom, entityUuid }: KeyRecord): boolean =>
    found.has(rotatedFrom) && entityUuid === row.entityUuid;
  return lineage.filter(isNext);
}
