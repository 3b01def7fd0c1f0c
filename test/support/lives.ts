/** A key in each state that its managers can encounter. */
import type { KeyRecord, KeyState, KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { AUTHORITY, HOUR, PEPPER_2, PLAIN, type Ring, START, setUp, tampering } from './keyring.ts';

/** When a key of {@link LIVES} expires, and when a rotated one retires. */
export const EXPIRY: number = START + 9 * HOUR;
export const RETIREMENT: number = START + HOUR;

/** How a key got into its state. */
export interface Life {
  readonly state: KeyState;
  /** The actions of its managers. */
  readonly acts?: readonly ('rotate' | 'suspend' | 'revoke')[];
  /** The time on the clock afterwards. */
  readonly now?: number;
  /** A direct edit of its row. */
  readonly edit?: object;
  /** Whether its pepper was removed. */
  readonly isOrphaned?: boolean;
}

/** By name: every state, some of them reached in two ways. */
export const LIVES = {
  live: { state: 'live' },
  retiring: { state: 'live', acts: ['rotate'] },
  suspended: { state: 'suspended', acts: ['suspend'] },
  'suspended and past its retirement': {
    state: 'suspended',
    acts: ['rotate', 'suspend'],
    now: RETIREMENT,
  },
  'suspended and past its expiry': { state: 'suspended', acts: ['suspend'], now: EXPIRY },
  retired: { state: 'retired', acts: ['rotate'], now: RETIREMENT },
  expired: { state: 'expired', now: EXPIRY },
  'retired and expired': { state: 'retired', acts: ['rotate'], now: EXPIRY },
  revoked: { state: 'revoked', acts: ['revoke'] },
  'suspended and revoked': { state: 'revoked', acts: ['suspend', 'revoke'] },
  'retired and revoked': { state: 'revoked', acts: ['rotate', 'revoke'], now: RETIREMENT },
  'revoked and malformed': { state: 'damaged', acts: ['revoke'], edit: { scopes: ['*:*'] } },
  'revoked and edited': { state: 'damaged', acts: ['revoke'], edit: { name: 'another' } },
  'revoked and of a later format': {
    state: 'unknown_format',
    acts: ['revoke'],
    edit: { format: 2 },
  },
  'revoked and orphaned': { state: 'orphaned', acts: ['revoke'], isOrphaned: true },
  edited: { state: 'damaged', edit: { name: 'another' } },
  'edited and past its expiry': { state: 'damaged', edit: { name: 'another' }, now: EXPIRY },
  malformed: { state: 'damaged', edit: { scopes: ['*:*'] } },
  'malformed and suspended': { state: 'damaged', acts: ['suspend'], edit: { scopes: ['*:*'] } },
  'of a later format': { state: 'unknown_format', edit: { format: 2 } },
  orphaned: { state: 'orphaned', isOrphaned: true },
} as const satisfies Readonly<Record<string, Life>>;

export type LifeName = keyof typeof LIVES;
export const LIFE_NAMES = Object.keys(LIVES) as LifeName[];

/** Shows one key's rows as if someone had edited them. */
export function editing(store: KeyStore, keyId: string, edit: object): KeyStore {
  return tampering(store, (row: KeyRecord) => (row.keyId === keyId ? { ...row, ...edit } : row));
}

/**
 * Issues a key, takes it through that life, and returns it with the keyring that sees it in that
 * state.
 */
export async function bring(name: LifeName, through = (store: KeyStore): KeyStore => store) {
  const { acts = [], now = START, edit = {}, isOrphaned = false }: Life = LIVES[name];
  const inner = memoryStore();
  const { keyring: first, clock } = setUp({ store: inner });
  const { key, info } = await first.issue({ ...PLAIN, expiresAt: new Date(EXPIRY) }, AUTHORITY);
  const { keyId } = info;
  for (const act of acts) await perform(first, act, keyId);
  clock.set(now);
  const store = through(editing(inner, keyId, edit));
  const peppers = isOrphaned ? { peppers: [PEPPER_2] } : {};
  const { keyring, events } = setUp({ store, now: clock.now, ...peppers });
  return { keyring, events, clock, inner, key, keyId };
}

function perform(keyring: Ring, act: 'rotate' | 'suspend' | 'revoke', keyId: string) {
  const authority = { ...AUTHORITY, actor: 'ada', reason: 'before' };
  if (act === 'rotate') return keyring.rotate(keyId, { overlapMs: HOUR }, authority);
  return keyring[act](keyId, authority);
}
