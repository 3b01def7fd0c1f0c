/** How subcommands find keys and show them. A `KeyInfo` contains nothing secret. */
import { AccessError } from '../../core/errors.js';
import type { KeyState } from '../../core/record.js';
import type { Authority } from '../../management/authority.js';
import type { DamagedKey, KeyInfo } from '../../management/info.js';
import type { Keyring } from '../../management/keyring.js';
import type { AddressedKey, ListInput, ListPage } from '../../management/list.js';
import { partsOf } from '../../reports/ask.js';
import type { ExpiringKey } from '../../reports/expiring-keys.js';
import type { Style } from './output.js';
import { type Column, cut } from './table.js';

/** A row of a list. */
export type ShownKey = KeyInfo | AddressedKey | DamagedKey;

const STYLES: Readonly<Record<KeyState, Style>> = {
  live: 'good',
  suspended: 'doubt',
  retired: 'dim',
  expired: 'dim',
  revoked: 'dim',
  orphaned: 'bad',
  damaged: 'bad',
  unknown_format: 'doubt',
};

/** Every state, for `--state`. */
export const KEY_STATES: readonly KeyState[] = Object.keys(STYLES) as KeyState[];

/** The likely reason if nothing can be read. */
export const OTHER_SECRETS =
  'the keyring has other peppers or another `deployment` than the one that made the keys. ' +
  'Run `keyscope doctor`.';

/**
 * Returns the prefix and the last four characters of a key, by which people recognize it. Nobody
 * has the text of a key without them.
 */
export function shownKey({ prefix, hint }: Pick<KeyInfo, 'prefix' | 'hint'>): string {
  return hint === '' ? '(keyless)' : `${prefix}_…${hint}`;
}

/** Returns a day, or `none` for null. */
export function shownDay(date: Date | null, none: string): string {
  return date?.toISOString().slice(0, 10) ?? none;
}

/** To the second. */
function shownTime(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}

const isRead = (key: ShownKey): key is KeyInfo | AddressedKey => 'name' in key;

/** When a replaced key retires; null for any other key. */
function retireAtOf(key: ShownKey | ExpiringKey): Date | null {
  return 'retireAt' in key ? key.retireAt : null;
}

/** A replaced key may still be live, until it retires. */
function shownState(key: ShownKey): string {
  const isReplaced = retireAtOf(key) !== null && key.state !== 'retired';
  return isReplaced ? `${key.state}, replaced` : key.state;
}

/** The earlier of expiry and retirement; null for never. */
export function endOf(key: KeyInfo | AddressedKey | ExpiringKey): Date | null {
  const { expiresAt } = key;
  const retireAt = retireAtOf(key);
  if (retireAt === null || expiresAt === null) return retireAt ?? expiresAt;
  return retireAt < expiresAt ? retireAt : expiresAt;
}

/** The most important column first, and the name last. */
export const KEY_COLUMNS: readonly Column<ShownKey>[] = [
  { title: 'KEY ID', cell: ({ keyId }) => keyId },
  { title: 'KEY', cell: (key) => (isRead(key) ? shownKey(key) : '') },
  { title: 'STATE', cell: shownState, style: ({ state }) => STYLES[state] },
  { title: 'EXPIRES', cell: (key) => (isRead(key) ? shownDay(endOf(key), 'never') : '') },
  {
    title: 'LAST USED',
    cell: (key) => ('lastUsedAt' in key ? shownDay(key.lastUsedAt, 'not known') : ''),
  },
  { title: 'SCOPES', cell: (key) => (isRead(key) ? key.scopes.join(' ') : ''), atLeast: 12 },
  { title: 'NAME', cell: (key) => (isRead(key) ? key.name : ''), atLeast: 8 },
];

/** The same for keys of several organizations. */
export const ALL_KEY_COLUMNS: readonly Column<ShownKey>[] = KEY_COLUMNS.toSpliced(-2, 0, {
  title: 'ORGANIZATION',
  cell: ({ entityId }) => entityId,
});

/** Returns the fields of a key in the order of `KeyInfo`, without the empty ones. */
export function fieldsOf(key: KeyInfo | DamagedKey): readonly (readonly [string, string])[] {
  const fields: [string, string][] = [];
  for (const [name, value] of Object.entries(key) as readonly (readonly [string, unknown])[]) {
    // In JSON, the value of a claim cannot look like another claim.
    const isTrust = name === 'trust' && value !== null;
    const text = isTrust ? JSON.stringify(value) : textOf(value);
    if (text !== '') fields.push([name, text]);
  }
  return fields;
}

function textOf(value: unknown): string {
  if (value === null || value === false) return '';
  if (value instanceof Date) return shownTime(value);
  if (Array.isArray(value)) return value.join(' ');
  if (typeof value !== 'object') return String(value);
  const pairs = Object.entries(value as Readonly<Record<string, unknown>>);
  return pairs.map(([name, content]) => `${name}=${textOf(content)}`).join(' ');
}

// ── Finding them ────────────────────────────────────────────────────────────────────────────────

/** A key, and its description for a question. */
interface FoundKey {
  readonly info: KeyInfo | DamagedKey;
  readonly shown: string;
}

/**
 * Finds the key that a command shows or is about to end.
 *
 * @throws AccessError `not_found` if the organization has no such key.
 */
export async function requireKey(
  keyring: Keyring,
  keyId: string,
  authority: Authority,
): Promise<FoundKey> {
  const info = await keyring.get(keyId, authority);
  if (info === null) throw new AccessError('not_found', 'no_such_key');
  const lastUsedAt = 'name' in info ? info.lastUsedAt : null;
  const used = lastUsedAt === null ? '' : `, last used ${lastUsedAt.toISOString()}`;
  return { info, shown: shownInQuestion(info, used) };
}

/** Describes a key in a question. `more` follows its state. */
export function shownInQuestion(key: ShownKey, more = ''): string {
  if (!('name' in key)) return `the ${key.state} key ${key.keyId}`;
  // A name that fills the terminal would hide the question.
  const name = cut(key.name, 200);
  return `${cut(shownKey(key), 40)} “${name}” (${key.state}${more})`;
}

/** The most that a keyring lists at once. */
const PAGE = 1000;

/**
 * Yields an organization's keys page by page, with one page in memory.
 */
export function pagesOf(
  keyring: Keyring,
  authority: Authority,
  addressing: boolean = false,
): AsyncGenerator<readonly ShownKey[]> {
  return partsOf('list', async (after) => {
    const input: ListInput = { after, limit: PAGE, addressing };
    const { keys, next }: ListPage<ShownKey> = await keyring.list(input, authority);
    return { items: keys, next };
  });
}
