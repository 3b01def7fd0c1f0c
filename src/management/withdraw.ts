/** Withdraws an entity from another entity's key that addresses it, and from its whole chain. */
import type { Context } from '../core/context.js';
import { InputError } from '../core/errors.js';
import type { CheckedAuthority } from './authority.js';
import { findRow, foreignKey, isOwn } from './find.js';
import { eachOfLineage } from './lineage.js';
import { isIn, writeMark } from './mark.js';

export async function withdraw(
  context: Context,
  authority: CheckedAuthority,
  keyId: string,
): Promise<void> {
  const { entityId } = authority;
  const row = await findRow(context, keyId);
  if (row.entityId === entityId) {
    throw new InputError('keyId', 'keyId: you own this key; revoke it, or rotate it narrower');
  }
  if (!isIn(row.accessibleEntities, entityId)) throw foreignKey();
  const mark = { kind: 'withdraw', at: context.clock(), entityId } as const;
  const event = { type: 'key.withdrawn', withdrawnEntity: entityId } as const;
  await writeMark(context, authority, row, mark, event);
  // A rotation in progress fails because of the mark. A finished one left a successor to mark, too.
  await eachOfLineage(context, row.rootKeyId, async (each) => {
    const isOfChain = each.rootKeyId === row.rootKeyId && isOwn(context, row.entityId, each);
    const isReaching = isIn(each.accessibleEntities, entityId) && !isIn(each.withdrawn, entityId);
    return isOfChain && isReaching && writeMark(context, authority, each, mark, event);
  });
}
