/** The state of a key in words, and other pieces that describe a key. */
import { html } from 'hono/html';
import type { AddressedKey, DamagedKey, KeyInfo, KeyState } from 'keyscope';
import type { Html } from './frame.ts';

/** The console points out keys that expire within this time. */
const SOON_MS = 14 * 24 * 3_600_000;

/** The names of the states, as the command shows them. The search offers them in this order. */
export const STATES: Readonly<Record<KeyState, string>> = {
  live: 'Live',
  suspended: 'Suspended',
  expired: 'Expired',
  retired: 'Retired',
  revoked: 'Revoked',
  damaged: 'Damaged',
  orphaned: 'Orphaned',
  unknown_format: 'Unknown format',
};

/** Checks whether the key has ended, so that there is nothing left to manage. */
export function isOver({ state }: KeyInfo): boolean {
  return state === 'revoked' || state === 'retired' || state === 'expired';
}

type AnyKey = KeyInfo | AddressedKey | DamagedKey;

/** The colour of a state's mark. The words say the same. */
type Tone = 'good' | 'wary' | 'bad' | 'over';

const TONES: Readonly<Record<KeyState, Tone>> = {
  live: 'good',
  suspended: 'wary',
  expired: 'over',
  retired: 'over',
  revoked: 'over',
  damaged: 'bad',
  orphaned: 'bad',
  unknown_format: 'bad',
};

const mark = (tone: Tone, words: string): Html => html`<span class="state ${tone}">${words}</span>`;

/** @param now Milliseconds since the epoch. */
export function stateOf(key: AnyKey, now: number): Html {
  const words = STATES[key.state];
  if (key.state !== 'live') return mark(TONES[key.state], words);
  if ('retireAt' in key && key.retireAt !== null) return mark('wary', `${words}, replaced`);
  const endsAt = 'expiresAt' in key ? key.expiresAt : null;
  const endsSoon = endsAt !== null && endsAt.getTime() - now < SOON_MS;
  return endsSoon ? mark('wary', `${words}, expires soon`) : mark('good', words);
}

/** Returns the prefix and the last four characters of a key; nobody has those of a keyless one. */
export function handleOf({ prefix, hint }: KeyInfo | AddressedKey): string {
  return hint === '' ? '(keyless)' : `${prefix}_…${hint}`;
}

/** Returns a scope, which may wrap only after its colon. */
export function scopeName(scope: string): Html {
  const colon = scope.indexOf(':') + 1;
  return html`<code class="whole"><span>${scope.slice(0, colon)}</span><wbr><span>${scope.slice(
    colon,
  )}</span></code> `;
}
