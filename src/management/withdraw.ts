/** Takes an entity out of another entity's key: whom a key addresses can cut itself off. */
import type { Context } from '../core/context.js';
import { InputError } from '../core/errors.js';
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
  const lineage = await context.store.listLineage(row.rootKeyId, { fresh: true });
  const reaching = lineage.filter(
    (each) => each.entityUuid === row.entityUuid && isIn(each.accessibleEntities, entityUuid),
  );
  const followed = new Set([row.keyId]);
  // Those that are added meanwhile are followed, too.
  for (const predecessor of followed) {
    for (const next of reaching.filter(({ rotatedFrom }) => rotatedFrom === predecessor)) {
      await writeMark(context, authority, next, mark);
      followed.add(next.keyId);
    }
  }
}
