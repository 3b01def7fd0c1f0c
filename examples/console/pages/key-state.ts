/** What became of a key, in words. */
import { html } from 'hono/html';
import type { AddressedKey, DamagedKey, KeyInfo, KeyState } from 'keyscope';
import type { Html } from './frame.ts';
import { time } from './frame.ts';

/** How soon a key ends to be pointed out. */
const SOON_MS = 14 * 24 * 3_600_000;

/** The states, in the order in which people look for them. */
export const STATES: Readonly<Record<KeyState, string>> = {
  live: 'Active',
  suspended: 'Suspended',
  expired: 'Expired',
  retired: 'Replaced',
  revoked: 'Revoked',
  damaged: 'Damaged',
  orphaned: 'Without its pepper',
  unknown_format: 'Made by a later release',
};

/** Whether nothing can be done with the key any more. */
export function isOver({ state }: KeyInfo): boolean {
  return state === 'revoked' || state === 'retired' || state === 'expired';
}

type AnyKey = KeyInfo | AddressedKey | DamagedKey;

/** The colour of a state's mark: the words say the same. */
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
  if ('retireAt' in key && key.retireAt !== null) return mark('wary', 'Replaced, in its overlap');
  const endsAt = 'expiresAt' in key ? key.expiresAt : null;
  const endsSoon = endsAt !== null && endsAt.getTime() - now < SOON_MS;
  return endsSoon ? mark('wary', `${words}, expires soon`) : mark('good', words);
}

/** When the newest of suspension, retirement and revocation was made, by whom and why. */
export function endingOf(key: KeyInfo): Html | null {
  const { revokedAt, suspendedAt, endedBy, endReason } = key;
  const at = revokedAt ?? suspendedAt;
  if (at === null) return null;
  return html`${time(at)}${endedBy && html`, by ${endedBy}`}${endReason && html`: ${endReason}`}`;
}

/** What people know a key by: its beginning and its end. */
export function handleOf({ prefix, hint }: KeyInfo | AddressedKey): Html {
  return html`<code>${prefix}_…${hint}</code>`;
}

/** A scope, which may break behind its colon and nowhere else. */
export function scopeName(scope: string): Html {
  const colon = scope.indexOf(':') + 1;
  return html`<code class="whole"><span>${scope.slice(0, colon)}</span><wbr><span>${scope.slice(
    colon,
  )}</span></code> `;
}
