/** Ends a key, its rotations, and everything that they issued. */
import type { Context } from '../core/context.js';
import { AccessError, isAccessError, StoreError } from '../core/errors.js';
import type { KeyRecord } from '../core/record.js';
import type { ListPosition } from '../core/store.js';
import { untilNextTurn } from '../core/thenable.js';
import type { CheckedAuthority } from './authority.js';
import { hasEnded, type Voucher, voucherOf } from './ended.js';
import { isOwn, readFresh, requireOwn } from './find.js';
import { revokeRow } from './revoke.js';

/**
 * Ends the lineage of a key and returns the ids of the keys that it ended. The key that issued this
 * one stays, and so do the other keys that it issued.
 */
export async function revokeLineage(
  context: Context,
  authority: CheckedAuthority,
  keyId: string,
): Promise<readonly string[]> {
  const row = await requireOwn(context, authority, keyId);
  const ended: string[] = [];
  const walk: Walk = { context, authority, ended };
  if (isVouchedFor(context, row)) {
    await endLineage(walk, row);
    return Object.freeze(ended);
  }
  await end(walk, row);
  // Believes no field of the row: only what others, under their own seals, say of its id.
  await endListed(walk, keyId);
  await endSuccessors(walk, keyId);
  throw new AccessError('conflict', 'lineage_unknown', { keyId, ended: Object.freeze(ended) });
}

/** Returns the keys that ended nevertheless if a lineage is not known; throws any other error. */
export function endedOf(error: unknown): readonly string[] {
  if (isAccessError(error) && error.ended !== undefined) return error.ended;
  throw error;
}

/** A walk through a lineage. */
interface Walk {
  readonly context: Context;
  readonly authority: CheckedAuthority;
  /** The ids of the keys that this walk ended. */
  readonly ended: string[];
}

/**
 * Ends the first row of the key's chain, which is the switch of all that follows, then the key, and
 * then the rest, even if one of them fails.
 */
async function endLineage(walk: Walk, row: KeyRecord): Promise<void> {
  const { rootKeyId } = row;
  const isFirst = rootKeyId === row.keyId;
  const first = isFirst ? null : await readFresh(walk.context, rootKeyId);
  try {
    if (first !== null) await end(walk, first);
  } finally {
    try {
      await end(walk, row);
    } finally {
      await endListed(walk, rootKeyId);
    }
  }
}

function endListed(walk: Walk, rootKeyId: string): Promise<void> {
  return eachOfLineage(walk.context, rootKeyId, (row) => end(walk, row));
}

/** Ends an own key. Returns false if it had ended when its row was read. */
async function end({ context, authority, ended }: Walk, row: KeyRecord): Promise<boolean> {
  if (!isOwn(context, authority.entityId, row) || hasEnded(context, row)) return false;
  if (await revokeRow(context, authority, row)) ended.push(row.keyId);
  return true;
}

const VOUCHED_FOR: readonly Voucher[] = ['alive', 'revocation'];

/** Checks whether a seal vouches for the key's place in its lineage. */
function isVouchedFor(context: Context, row: KeyRecord): boolean {
  return VOUCHED_FOR.includes(voucherOf(context, row));
}

/** Ends the lineage of the keys that were rotated from this one: all of them have its root. */
async function endSuccessors(walk: Walk, keyId: string): Promise<void> {
  const { context, authority } = walk;
  let after: ListPosition | null = null;
  let next: KeyRecord | undefined;
  do {
    const query = {
      prefix: context.format.prefix,
      entityId: authority.entityId,
      after,
      limit: PAGE,
    };
    const rows: readonly KeyRecord[] = await context.store.list(query, { fresh: true });
    next = rows.find((row) => row.rotatedFrom === keyId && isVouchedFor(context, row));
    after = rows[PAGE - 1] ?? null;
  } while (next === undefined && after !== null);
  if (next !== undefined) await endLineage(walk, next);
}

// ── The rows of a lineage ───────────────────────────────────────────────────────────────────────

const PAGE = 500;
const AT_ONCE = 10;

/**
 * Calls `change` with every row of a lineage, several at a time, and walks again until it changed
 * none. `change` returns whether the row needed it. A row that fails shields no other: its error is
 * thrown at the end, or once there are ten, because then the store is broken.
 */
export async function eachOfLineage(
  context: Context,
  rootKeyId: string,
  change: (row: KeyRecord) => Promise<boolean>,
): Promise<void> {
  const changed = new Set<string>();
  let failures: unknown[];

  async function changeOnce(row: KeyRecord): Promise<void> {
    try {
      if (!(await change(row))) return;
      const isStale = changed.has(row.keyId);
      if (isStale) throw new StoreError('store.listLineage does not see marks; see KeyStore');
      changed.add(row.keyId);
    } catch (error) {
      failures.push(error);
    }
  }

  let before: number;
  do {
    before = changed.size;
    failures = [];
    for await (const rows of groupsOf(context, rootKeyId)) {
      await Promise.all(rows.map(changeOnce));
      if (failures.length >= AT_ONCE) throw failures[0];
    }
  } while (changed.size > before);
  if (failures.length > 0) throw failures[0];
}

/** Reads a lineage page by page, and yields a few rows at a time. */
async function* groupsOf(
  context: Context,
  rootKeyId: string,
): AsyncGenerator<readonly KeyRecord[], void, void> {
  let after: string | null = null;
  do {
    const query = { rootKeyId, after, limit: PAGE };
    const rows: readonly KeyRecord[] = await context.store.listLineage(query, { fresh: true });
    for (let start = 0; start < rows.length; start += AT_ONCE) {
      // A synchronous store would otherwise keep everything else waiting.
      if (start > 0) await untilNextTurn();
      yield rows.slice(start, start + AT_ONCE);
    }
    const last: string | null = rows[PAGE - 1]?.keyId ?? null;
    const isStuck = last !== null && after !== null && last <= after;
    if (isStuck) throw new StoreError('store.listLineage ignores `after`; see KeyStore');
    after = last;
  } while (after !== null);
}
