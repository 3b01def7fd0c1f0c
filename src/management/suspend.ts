/** Suspends a key while there is doubt about it, and resumes it. Neither changes a revoked key. */
import type { Context } from '../core/context.js';
import { AccessError } from '../core/errors.js';
import { requireActing, requireStillActing } from './acting.js';
import type { CheckedAuthority } from './authority.js';
import { ENDED } from './ended.js';
import { readInfo, requireOwn } from './find.js';
import { alreadyEnded, writeMark } from './mark.js';

export async function suspend(
  context: Context,
  authority: CheckedAuthority,
  keyId: string,
): Promise<void> {
  const row = await requireOwn(context, authority, keyId);
  if (ENDED.includes(readInfo(context, row).state)) throw alreadyEnded(keyId);
  const mark = { kind: 'suspend', at: context.clock(), ...authority.said } as const;
  await writeMark(context, authority, row, mark, { type: 'key.suspended' });
}

export async function resume(
  context: Context,
  authority: CheckedAuthority,
  keyId: string,
): Promise<void> {
  const acting = await requireActing(context, authority);
  const row = await requireOwn(context, authority, keyId);
  if (acting !== null && acting.rootKeyId !== row.issuedUnder) {
    throw new AccessError('ceiling_exceeded', 'foreign_chain', { keyId });
  }
  const at = context.clock();
  const { endedBy: by, endReason: reason } = row;
  const undo = () => context.store.mark(keyId, { kind: 'suspend', at, by, reason });
  const mark = { kind: 'resume', at } as const;
  await writeMark(context, authority, row, mark, { type: 'key.resumed' }, () =>
    requireStillActing(context, authority, undo),
  );
}
