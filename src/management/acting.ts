/**
 * The key that makes a call which hands out or revives a key. It must be live before the write and
 * after it, and its row is the ceiling each time: nothing gains by a slow request or a race.
 *
 * The first row of a chain is its switch. `revokeLineage` revokes it before anything else; from
 * then on, no key of the chain can add anything.
 */
import type { Context } from '../core/context.js';
import { AccessError, isAccessError } from '../core/errors.js';
import type { KeyRecord } from '../core/record.js';
import type { Awaitable } from '../core/store.js';
import { earliest } from '../core/times.js';
import { refused, requireLive, requireRecord } from '../core/verify.js';
import type { CheckedAuthority } from './authority.js';
import { voucherOf } from './ended.js';
import { foreignKey, readFresh } from './find.js';

/** Reads the key that makes the call. Returns null if no key makes it. */
export async function requireActing(
  context: Context,
  { keyId, entityId }: CheckedAuthority,
): Promise<KeyRecord | null> {
  if (keyId === null) return null;
  const row = await readFresh(context, keyId);
  if (row?.prefix !== context.format.prefix) return refused('unknown_key', keyId);
  if (row.entityId !== entityId) throw foreignKey();
  const acting = await requireRecord(row);
  await requireLive(context, acting);
  const { rootKeyId, issuedUnder } = acting;
  // Read after the key itself: `revokeLineage` writes in the other order.
  if (rootKeyId !== keyId) await requireFirst(context, acting, rootKeyId);
  if (issuedUnder !== null) await requireFirst(context, acting, issuedUnder);
  return acting;
}

/**
 * Throws unless the first row of a chain is there, unedited, and not marked as revoked. It may be
 * orphaned, because keys are rotated so that an old pepper can be removed.
 */
async function requireFirst(
  context: Context,
  { keyId, entityId }: KeyRecord,
  rootKeyId: string,
): Promise<void> {
  const row = await readFresh(context, rootKeyId);
  const isOn =
    row?.revokedAt === null && row.entityId === entityId && voucherOf(context, row) !== 'nothing';
  if (!isOn) throw issuerEnded(keyId);
}

/** Lowers an authority to what the key that makes the call can do itself. */
export function lowered<A extends CheckedAuthority>(authority: A, acting: KeyRecord | null): A {
  if (acting === null) return authority;
  const endsAt = earliest(acting.expiresAt, acting.retireAt) ?? Number.POSITIVE_INFINITY;
  const entities = authority.entities.filter((entity) => !acting.withdrawn.includes(entity));
  return { ...authority, entities, notAfter: Math.min(authority.notAfter, endsAt) };
}

/**
 * Reads the key that makes the call again, after the write, and runs the check of its ceiling. If
 * either fails, undoes the write and throws `conflict`.
 */
export async function requireStillActing(
  context: Context,
  authority: CheckedAuthority,
  undo: () => Awaitable<unknown>,
  check: (acting: KeyRecord | null) => void = () => {},
): Promise<void> {
  try {
    check(await requireActing(context, authority));
  } catch (error) {
    await undo();
    throw isAccessError(error) ? issuerEnded(authority.keyId) : error;
  }
}

function issuerEnded(keyId: string | null): AccessError {
  return new AccessError('conflict', 'issuer_ended', { keyId: keyId ?? undefined });
}
