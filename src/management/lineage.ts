/** Ends a key, its rotations, and everything that they issued. */
import type { Context } from '../core/context.js';
import { StoreError } from '../core/errors.js';
import type { KeyRecord } from '../core/record.js';
import type { ListPosition } from '../core/store.js';
import type { CheckedAuthority } from './authority.js';
import { hasEnded, type Voucher, voucherOf } from './ended.js';
import { requireOwn } from './find.js';
import { revokeRow } from './revoke.js';

/** Far more passes than concurrent rotations and new keys can require. */
const MAX_PASSES = 100;

/** How many keys end in one turn of the event loop. */
const MAX_IN_A_TURN = 50;

/** A walk through a lineage. */
interface Walk {
  readonly context: Context;
  readonly authority: CheckedAuthority;
  /**
   * The roots whose rotations and children belong to the walk, and the time since when they do: for
   * a key that was rotated from another, only what came after it. Grows during the walk.
   */
  readonly roots: Map<string, number>;
  /** The ids of the keys that this walk ended. */
  readonly ended: string[];
}

/**
 * Ends the lineage of a key and returns the ids of the keys that it ended. The key that issued this
 * one stays, and so do the other keys that it issued.
 */
export async function revokeLineage(
  context: Context,
  authority: CheckedAuthority,
  keyId: string,
): Promise<readonly string[]> {
  const asked = await requireOwn(context, authority, keyId);
  const walk: Walk = { context, authority, roots: new Map(), ended: [] };
  // Checked first, because revoking a damaged row removes its seal.
  const isKnown = isVouchedFor(context, asked);
  await end(walk, asked, ALWAYS);
  if (isKnown) return endRoots(walk);
  await endNeighbours(walk, asked);
  await endRoots(walk);
  throw new StoreError(
    `key ${keyId} is revoked, but its row is untrusted: find and revoke the entity's related keys`,
  );
}

/** Ends everything under the roots and repeats until nothing is left. Returns the ended keys. */
async function endRoots(walk: Walk): Promise<readonly string[]> {
  const { context, roots } = walk;
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    let left = 0;
    // The loop also visits roots that are added during the walk.
    for (const [root, since] of roots) {
      const lineage = await context.store.listLineage(root, { fresh: true });
      const later = ownOf(walk, lineage).filter(({ createdAt }) => !(createdAt < since));
      for (const row of later) left += await end(walk, row, sinceWhen(row));
    }
    // Otherwise, walk again: a concurrent rotation may have made another key.
    if (left === 0) return Object.freeze(walk.ended);
  }
  throw new StoreError('store.listLineage does not see revocations; see KeyStore');
}

/** Earlier than every time. */
const ALWAYS = Number.NEGATIVE_INFINITY;

/** Returns since when the lineage of a row belongs to it: for a rotated key, since its creation. */
function sinceWhen({ rotatedFrom, createdAt }: KeyRecord): number {
  return rotatedFrom === null ? ALWAYS : createdAt;
}

/** Ends a key and notes its root. Returns 1, or 0 if the key had ended already. */
async function end(walk: Walk, row: KeyRecord, since: number): Promise<number> {
  const { context, authority, roots, ended } = walk;
  // Do not follow an edited row to another key: an attacker may have chosen it.
  const root = isVouchedFor(context, row) ? row.rootKeyId : row.keyId;
  if (since < (roots.get(root) ?? Number.POSITIVE_INFINITY)) {
    // Moved to the end of the map, so that it is walked again.
    roots.delete(root);
    roots.set(root, since);
  }
  if (hasEnded(context, row)) return 0;
  if (await revokeRow(context, authority, row)) {
    const count = ended.push(row.keyId);
    // A synchronous store would keep everything else waiting until the whole lineage has ended.
    if (count % MAX_IN_A_TURN === 0) await new Promise((resolve) => setTimeout(resolve));
  }
  return 1;
}

function ownOf({ context, authority }: Walk, rows: readonly KeyRecord[]): readonly KeyRecord[] {
  const { prefix: own } = context.format;
  return rows.filter(
    ({ prefix, entityUuid }) => prefix === own && entityUuid === authority.entityUuid,
  );
}

const VOUCHED_FOR: readonly Voucher[] = ['alive', 'revocation'];

/** Checks whether a seal vouches for the key's place in its lineage. */
function isVouchedFor(context: Context, row: KeyRecord): boolean {
  return VOUCHED_FOR.includes(voucherOf(context, row));
}

// ── Where nothing vouches for the row ───────────────────────────────────────────────────────────

const PAGE = 1000;

/**
 * Ends all keys of the entity that claim to be rotated from this one. Also ends the predecessor
 * that this row claims, if a rotation has retired it.
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
