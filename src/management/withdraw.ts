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
  await writeMark(context, authority, row, { kind: 'withdraw', at: context.clock(), entityUuid });
}
