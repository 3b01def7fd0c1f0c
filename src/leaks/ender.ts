/** Looks up found strings and applies the action of their source to keys. */

import { setBounded } from '../core/bounded.js';
import { isAccessError, StoreError } from '../core/errors.js';
import type { KeyState } from '../core/record.js';
import { createSlots, type Slots } from '../core/slots.js';
import type { Authority } from '../management/authority.js';
import { ENDED } from '../management/ended.js';
import type { DamagedKey, KeyInfo } from '../management/info.js';
import { endedOf } from '../management/lineage.js';
import { digestKey, isKey } from '../notation/keys.js';
import type { Find, LeakConfig, LeakKeyring, PrefixedKeyring } from './leak-handler-options.js';
import type { MaskPlace } from './masked-place.js';
import type { Source } from './sources.js';

/** Ends leaked keys. All routes of one handler share it. */
export interface LeakEnder {
  /**
   * Applies the action of the source to a found string. Returns whether a keyring knows it as a
   * key, in any state. A string that fails the format or checksum test never reaches a store.
   *
   * @throws StoreError if the store or the keyring fails.
   */
  end(source: Source, find: Find, maskPlace: MaskPlace): Promise<boolean>;
  /** Whether to turn strangers away. */
  isFull(): boolean;
}

/** The state of one handler. */
interface Desk {
  /** Slots for look-ups of strings from strangers. */
  readonly strangers: Slots;
  /** Slots for signed reports. */
  readonly proven: Slots;
  /** Slots for ending keys that a holder sent. */
  readonly holders: Slots;
  readonly remembered: Memory;
  readonly tell: LeakConfig['tell'];
}

interface Memory {
  has(report: string): boolean;
  add(report: string): void;
}

/** How many reports use the store at once, which leaves it free for ordinary traffic. */
const AT_ONCE = 4;

/** How many strangers' reports may wait. Those beyond get 503. */
const MOST_WAITING = 1_000;

/**
 * Makes the ender of one handler. Anybody can make strings with a valid checksum, so look-ups for
 * strangers have separate slots. Signed reports and known keys never wait for these.
 */
export function createEnder({ keyrings, tell }: LeakConfig): LeakEnder {
  const strangers = createSlots(AT_ONCE);
  const proven = createSlots(AT_ONCE);
  const holders = createSlots(AT_ONCE);
  const desk: Desk = { strangers, proven, holders, remembered: createMemory(), tell };
  return {
    end: async (source, find, maskPlace) => {
      const found = keyrings.find(({ prefix }) => isKey(find.token, { prefix }));
      return found !== undefined && identifyAndEnd(desk, found, source, find, maskPlace);
    },
    isFull: () => strangers.waiting() >= MOST_WAITING,
  };
}

async function identifyAndEnd(
  { strangers, proven, holders, remembered, tell }: Desk,
  { keyring, prefix }: PrefixedKeyring,
  source: Source,
  find: Find,
  maskPlace: MaskPlace,
): Promise<boolean> {
  const isHolder = source.name === 'holder';
  const slots = isHolder ? strangers : proven;
  const { actor } = source;
  const info = await slots.take(() => keyring.identify(find.token, { actor }));
  if (info === null) return false;
  const { keyId, entityId, state } = info;
  const where = find.where === null ? null : maskPlace(find.where, prefix);
  // Uses the original place, because `where` may be masked or cut.
  const report = digestKey(`${source.name} ${keyId} ${find.where}`);
  const isAgain = remembered.has(report);
  const places = isHolder ? holders : proven;
  const leak = { source: source.name, where, keyId, entityId, prefix, state };
  try {
    const end = () => endFound(keyring, source, info, where);
    const ended = isAgain ? [] : await places.take(end);
    const isDead = ENDED.includes(state);
    const isOldNews = isDead && ended.length === 0 && remembered.has(keyId);
    if (!isOldNews) tell(Object.freeze({ ...leak, ended }));
    if (isDead || ended.length > 0) remembered.add(keyId);
  } catch (error) {
    // The reporter must not learn why a known key cannot be ended.
    throw isAccessError(error) ? new StoreError('a leaked key could not be ended') : error;
  }
  // A holder may report a key again, because it is then still exposed.
  if (source.action === 'suspend' && !isHolder) remembered.add(report);
  return true;
}

/** The number of reports and keys to remember, about a megabyte. */
const MOST_REMEMBERED = 10_000;

/**
 * Remembers reports that suspended a key, so that the same one does not suspend it again after an
 * operator has resumed it. Also remembers dead keys, so that `onLeak` receives each of them once.
 * Only in this process. Drops the oldest entry first.
 */
function createMemory(): Memory {
  const known = new Map<string, true>();
  return {
    has: (report) => known.has(report),
    add: (report) => setBounded(known, report, true, MOST_REMEMBERED),
  };
}

/** Applies the action. Returns the ids of the keys that it ended or suspended. */
async function endFound(
  keyring: LeakKeyring,
  { action, actor, evenIfEnded }: Source,
  { keyId, entityId, state }: KeyInfo | DamagedKey,
  where: string | null,
): Promise<readonly string[]> {
  const reason = where === null ? 'reported as leaked' : `found at ${where}`;
  const authority: Authority = { entityId, actor, reason };
  const isOver = ENDED.includes(state) && !evenIfEnded;
  if (action === 'tell' || isOver) return [];
  // Reports what ended also where the lineage is unknown: the state in the report says why.
  if (action === 'revokeLineage') return keyring.revokeLineage(keyId, authority).catch(endedOf);
  if (action === 'suspend') return suspendFound(keyring, keyId, state, authority);
  await keyring.revoke(keyId, authority);
  return [keyId];
}

async function suspendFound(
  keyring: LeakKeyring,
  keyId: string,
  state: KeyState,
  authority: Authority,
): Promise<readonly string[]> {
  if (state === 'suspended') return [];
  try {
    await keyring.suspend(keyId, authority);
    return [keyId];
  } catch (error) {
    // The key has ended since the look-up.
    if (isAccessError(error) && error.code === 'conflict') return [];
    throw error;
  }
}
