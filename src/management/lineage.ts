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
  /**
   * The roots whose rotations and children belong to it, and since when: of a key that was taken
   * over by a rotation, only what came after. Grows while it is walked.
   */
  readonly roots: Map<string, number>;
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
  const walk: Walk = { context, authority, roots: new Map(), ended: [] };
  // Looked at before: a row that is revoked while it is damaged has no seal afterwards.
  const isKnown = isVouchedFor(context, asked);
  await end(walk, asked, ALWAYS);
  if (isKnown) return endRoots(walk);
  await endNeighbours(walk, asked);
  await endRoots(walk);
  throw new StoreError(
    `key ${keyId} is revoked, but its row is not to be trusted: list its entity's keys, and revoke`,
  );
}

/** Ends everything under the roots, again until nothing is left; returns all that was ended. */
async function endRoots(walk: Walk): Promise<readonly string[]> {
  const { context, roots } = walk;
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    let left = 0;
    // Those that are added meanwhile are walked, too.
    for (const [root, since] of roots) {
      const lineage = await context.store.listLineage(root, { fresh: true });
      const later = ownOf(walk, lineage).filter(({ createdAt }) => !(createdAt < since));
      for (const row of later) left += await end(walk, row, sinceWhen(row));
    }
    // A rotation beside this may have made another key meanwhile.
    if (left === 0) return Object.freeze(walk.ended);
  }
  throw new StoreError('store.listLineage does not see what was revoked; see KeyStore');
}

/** Before every time. */
const ALWAYS = Number.NEGATIVE_INFINITY;

/** Of a key that a rotation has taken over, what was there before belongs to others. */
function sinceWhen({ rotatedFrom, createdAt }: KeyRecord): number {
  return rotatedFrom === null ? ALWAYS : createdAt;
}

/** Ends a key and notes its root; returns how many keys that were, 0 if it had ended already. */
async function end(walk: Walk, row: KeyRecord, since: number): Promise<number> {
  const { context, authority, roots, ended } = walk;
  // Nothing in an edited row leads to another key: somebody may have chosen it.
  const root = isVouchedFor(context, row) ? row.rootKeyId : row.keyId;
  if (since < (roots.get(root) ?? Number.POSITIVE_INFINITY)) {
    // At the end of the map, so that it is walked again.
    roots.delete(root);
    roots.set(root, since);
  }
  if (hasEnded(context, row)) return 0;
  if (await revokeRow(context, authority, row)) ended.push(row.keyId);
  return 1;
}

function ownOf({ context, authority }: Walk, rows: readonly KeyRecord[]): readonly KeyRecord[] {
  const { prefix: own } = context.format;
  return rows.filter(
    ({ prefix, entityUuid }) => prefix === own && entityUuid === authority.entityUuid,
  );
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
  const own = { prefix: context.format.prefix, entityUuid: authority.entityUuid };
  let after: ListPosition | null = null;
  do {
    const query = { ...own, after, limit: PAGE };
    const rows: readonly KeyRecord[] = await context.store.list(query, { fresh: true });
    for (const row of rows.filter((each) => each.rotatedFrom === keyId)) {
      await end(walk, row, ALWAYS);
    }
    const old = rows.find((each) => each.keyId === rotatedFrom);
    if (typeof old?.retireAt === 'number') await revokeRow(context, authority, old);
    after = rows[PAGE - 1] ?? null;
  } while (after !== null);
}
