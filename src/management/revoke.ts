/**
 * Ends keys at once and for good. A key cannot be un-revoked or deleted, so the keys in an audit
 * log can always be looked up.
 */
import type { Context } from '../core/context.js';
import { StoreError } from '../core/errors.js';
import { type KeyRecord, readRecord } from '../core/record.js';
import { sealOf } from '../core/seal.js';
import type { RevokeMark } from '../core/store.js';
import { isUuid } from '../core/uuid.js';
import { schemeOf, stateOf } from '../core/verify.js';
import type { CheckedAuthority } from './authority.js';
import { requireOwn } from './find.js';
import { writeMark } from './mark.js';

export async function revoke(
  context: Context,
  authority: CheckedAuthority,
  keyId: string,
): Promise<void> {
  const row = await requireOwn(context, authority, keyId);
  await revokeRow(context, authority, row);
}

/** Far more than rotations can happen beside a call. */
const MAX_PASSES = 100;

/** Revokes a key, its predecessors and its successors; returns the ids of those that it ended. */
export async function revokeLineage(
  context: Context,
  authority: CheckedAuthority,
  keyId: string,
): Promise<readonly string[]> {
  const asked = await requireOwn(context, authority, keyId);
  const root = isUuid(asked.rootKeyId) ? asked.rootKeyId : keyId;
  const ended: string[] = [];
  // The key itself first: its row may be too damaged to be found by its root.
  let rows: readonly KeyRecord[] = [asked];
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    for (const row of rows) {
      if (await revokeRow(context, authority, row)) ended.push(row.keyId);
    }
    // Again, until nothing is left: a rotation beside this may have made another key meanwhile.
    const lineage = await context.store.listLineage(root, { fresh: true });
    rows = lineage.filter(isLeft);
    if (rows.length === 0) return Object.freeze(ended);
  }
  throw new StoreError('store.listLineage does not see what was revoked; see KeyStore');

  function isLeft({ prefix, entityUuid, revokedAt }: KeyRecord): boolean {
    const isOwn = prefix === context.format.prefix && entityUuid === authority.entityUuid;
    return isOwn && revokedAt === null;
  }
}

/** Revokes a key whose row was read; false if it was revoked already. */
async function revokeRow(
  context: Context,
  authority: CheckedAuthority,
  row: KeyRecord,
): Promise<boolean> {
  return writeMark(context, authority, row, revocationOf(context, authority, row));
}

/** The mark that revokes a key now, with the seal that proves it. */
export function revocationOf(
  context: Context,
  { said }: CheckedAuthority,
  row: KeyRecord,
): RevokeMark {
  const at = context.clock();
  const end = { revokedAt: at, endedBy: said.by, endReason: said.reason };
  return { kind: 'revoke', at, ...said, seal: revocationSeal(context, row, end) };
}

type End = Pick<KeyRecord, 'revokedAt' | 'endedBy' | 'endReason'>;

/** Null for a row that nothing vouches for: an edited one must not be sealed now. */
function revocationSeal(context: Context, row: KeyRecord, end: End): string | null {
  const record = readRecord(row);
  if (record === null || stateOf(context, record) === 'damaged') return null;
  const scheme = schemeOf(context, record);
  return scheme === undefined ? null : sealOf({ ...record, ...end }, scheme);
}
