/** Ends a key with its rotations, and with everything that was issued on their authority. */
import type { Context } from '../core/context.js';
import { StoreError } from '../core/errors.js';
import type { KeyRecord } from '../core/record.js';
import type { ListPosition } from '../core/store.js';
import type { CheckedAuthority } from './authority.js';
import { hasEnded, type Voucher, voucherOf } from './ended.js';
import { requireOwn } from './find.js';
import { revokeRow } from './revoke.js';

/** Far more than rotations and new keys can happen beside a call. */
const MAX_PASSES = 100;

/** A walk through a lineage. */
interface Walk {
  readonly context: Context;
  readonly authority: CheckedAuthority;
  /** The roots whose rotations and children belong to it. Grows while it is walked. */
  readonly roots: Set<string>;
  /** The ids of the keys that this walk ended. */
  readonly ended: string[];
}

/**
 * Returns the ids of the keys that it ended. The key that this one was issued under stays, and so
 * do its other children.
 */
export async function revokeLineage(
  context: Context,
  authority: CheckedAuthority,
  keyId: string,
): Promise<readonly string[]> {
  const asked = await requireOwn(context, authority, keyId);
  const walk: Walk = { context, authority, roots: new Set(), ended: [] };
  // Looked at before: a row that is revoked while it is damaged has no seal afterwards.
  const isKnown = isVouchedFor(context, asked);
  await end(walk, asked);
  if (isKnown) return endRoots(walk);
  await endNeighbours(walk, asked);
  await endRoots(walk);
  throw new StoreError(
    `key ${keyId} was revoked, but its record is damaged or its pepper is gone: keys of its ` +
      'lineage may be left; list the keys of the entity, and revoke those that you do not trust',
  );
}

/** Ends everything under the roots, again until nothing is left; returns all that was ended. */
async function endRoots(walk: Walk): Promise<readonly string[]> {
  const { context, roots } = walk;
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    let left = 0;
    // Those that are added meanwhile are walked, too.
    for (const root of roots) {
      const lineage = await context.store.listLineage(root, { fresh: true });
      for (const row of ownOf(walk, lineage)) if (await end(walk, row)) left++;
    }
    // A rotation beside this may have made another key meanwhile.
    if (left === 0) return Object.freeze(walk.ended);
  }
  throw new StoreError('store.listLineage does not see what was revoked; see KeyStore');
}

/** Ends a key and notes its root; says whether it had not ended yet. */
async function end({ context, authority, roots, ended }: Walk, row: KeyRecord): Promise<boolean> {
  // Nothing in an edited row leads to another key: somebody may have chosen it.
  roots.add(isVouchedFor(context, row) ? row.rootKeyId : row.keyId);
  if (hasEnded(context, row)) return false;
  if (await revokeRow(context, authority, row)) ended.push(row.keyId);
  return true;
}

function ownOf({ context, authority }: Walk, rows: readonly KeyRecord[]): readonly KeyRecord[] {
  const { prefix } = context.format;
  const { entityUuid } = authority;
  return rows.filter((row) => row.prefix === prefix && row.entityUuid === entityUuid);
}

const VOUCHED_FOR: readonly Voucher[] = ['alive', 'revocation'];

/** Whether a seal vouches for where the key belongs. */
function isVouchedFor(context: Context, row: KeyRecord): boolean {
  return VOUCHED_FOR.includes(voucherOf(context, row));
}

// ── Where nothing vouches for the row ───────────────────────────────────────────────────────────

const PAGE = 1000;

/**
 * Searches all keys of the entity for those that say that they were rotated from this one, and ends
 * them. Also the one that this row says it was rotated from, if a rotation has retired it.
 */
async function endNeighbours(walk: Walk, { keyId, rotatedFrom }: KeyRecord): Promise<void> {
  const { context, authority } = walk;
  const { entityUuid } = authority;
  let after: ListPosition | null = null;
  do {
    const query = { prefix: context.format.prefix, entityUuid, after, limit: PAGE };
    const rows: readonly KeyRecord[] = await context.store.list(query, { fresh: true });
    const own = ownOf(walk, rows);
    for (const row of own.filter((each) => each.rotatedFrom === keyId)) await end(walk, row);
    const old = own.find((each) => each.keyId === rotatedFrom);
    if (typeof old?.retireAt === 'number') await revokeRow(context, authority, old);
    after = rows[PAGE - 1] ?? null;
  } while (after !== null);
}
