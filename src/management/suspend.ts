/** Suspends a key while there is doubt about it, and resumes it. Neither changes a revoked key. */
import type { Context } from '../core/context.js';
import type { KeyState } from '../core/record.js';
import type { CheckedAuthority } from './authority.js';
import { readInfo, requireOwn } from './find.js';
import { alreadyEnded, writeMark } from './mark.js';

const ENDED: readonly KeyState[] = ['revoked', 'retired', 'expired'];

export async function suspend(
  context: Context,
  authority: CheckedAuthority,
  keyId: string,
): Promise<void> {
  const row = await requireOwn(context, authority, keyId);
  if (ENDED.includes(readInfo(context, row).state)) throw alreadyEnded(keyId);
  const mark = { kind: 'suspend', at: context.clock(), ...authority.said } as const;
  await writeMark(context, authority, row, mark);
}

export async function resume(
  context: Context,
  authority: CheckedAuthority,
  keyId: string,
): Promise<void> {
  const row = await requireOwn(context, authority, keyId);
  await writeMark(context, authority, row, { kind: 'resume', at: context.clock() });
}
