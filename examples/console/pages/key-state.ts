/** What a key's times say about it, in words. */
import type { KeyInfo } from 'keyscope';

export interface KeyState {
  readonly ended: boolean;
  readonly words: string;
}

/** @param now Milliseconds since the epoch. */
export function stateOf({ revokedAt, retireAt, expiresAt }: KeyInfo, now: number): KeyState {
  const isPast = (date: Date | null): boolean => date !== null && date.getTime() <= now;
  if (revokedAt !== null) return { ended: true, words: 'Revoked' };
  if (isPast(expiresAt)) return { ended: true, words: 'Expired' };
  if (isPast(retireAt)) return { ended: true, words: 'Replaced' };
  if (retireAt !== null) return { ended: false, words: 'Replaced, in its overlap' };
  return { ended: false, words: 'Active' };
}
