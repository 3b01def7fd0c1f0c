/** Withdraws an entity from another entity's key that addresses it. */
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
    throw new InputError('keyId', 'keyId: you own this key; revoke it, or rotate it narrower');
  }
  if (!isIn(row.accessibleEntities, entityUuid)) throw foreignKey();
  const mark = { kind: 'withdraw', at: context.clock(), entityUuid } as const;
  await writeMark(context, authority, row, mark);
  // A rotation in progress fails because of the mark. A finished one left a successor to mark, too.
  const lineage = await context.store.listLineage(row.rootKeyId, { fresh: true });
  const reaching = lineage.filter(
    (each) => each.entityUuid === row.entityUuid && isIn(each.accessibleEntities, entityUuid),
  );
  const followed = new Set([row.keyId]);
  // The loop also visits keys that are added while it runs.
  for (const predecessor of followed) {
    for (const next of reaching.filter(({ rotatedFrom }) => rotatedFrom === predecessor)) {
      await writeMark(context, authority, next, mark);
      followed.add(next.keyId);
    }
  }
}
