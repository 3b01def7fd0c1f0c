/** Looks at strings that were found somewhere, and does with their keys what the source is for. */
import { isAccessError, StoreError } from '../core/errors.js';
import type { KeyState } from '../core/record.js';
import type { Authority } from '../management/authority.js';
import type { DamagedKey, KeyInfo } from '../management/info.js';
import { digestKey, isKey } from '../management/keys.js';
import type { Find, LeakConfig, LeakKeyring, PrefixedKeyring } from './leak-handler-options.js';
import { createSlots, type Slots } from './slots.js';
import type { Source } from './sources.js';
import type { WhereReader } from './where.js';

/** What all the doors of one handler share. */
export interface LeakEnder {
  /**
   * Whether the string is a key that a keyring knows, in whatever state; and ends it, if the source
   * is for that. No store is asked for what has not the shape and the checksum of a key.
   *
   * @throws StoreError if that is not known.
   */
  end(source: Source, find: Find, readWhere: WhereReader): Promise<boolean>;
  /** Whether a stranger has to be sent away. */
  isFull(): boolean;
}

/** Where reports wait, what was acted on, and who is told. */
interface Desk {
  /** Places to look up what a stranger sends. */
  readonly strangers: Slots;
  /** Places for signed reports. */
  readonly proven: Slots;
  /** Places to end what a holder has shown. */
  readonly holders: Slots;
  readonly suspended: Memory;
  readonly tell: LeakConfig['tell'];
}

type Memory = Pick<Set<string>, 'add' | 'has'>;

/**
 * Makes it. Anybody can make strings with the right checksum, so strangers share places in which
 * such strings are looked up, and nothing else is done. Signed reports wait for none of them, and
 * neither does a key that was found to be one.
 */
export function createEnder({ keyrings, tell }: LeakConfig): LeakEnder {
  const strangers = createSlots();
  const proven = createSlots();
  const holders = createSlots();
  const desk: Desk = { strangers, proven, holders, suspended: createMemory(), tell };
  return {
    end: async (source, find, readWhere) => {
      const found = keyrings.find(({ prefix }) => isKey(find.token, { prefix }));
      return found !== undefined && identifyAndEnd(desk, found, source, find, readWhere);
    },
    isFull: strangers.isFull,
  };
}

async function identifyAndEnd(
  { strangers, proven, holders, suspended, tell }: Desk,
  { keyring, prefix }: PrefixedKeyring,
  source: Source,
  find: Find,
  readWhere: WhereReader,
): Promise<boolean> {
  const isHolder = source.name === 'holder';
  const slots = isHolder ? strangers : proven;
  const { actor } = source;
  const info = await slots.take(() => keyring.identify(find.token, { actor }));
  if (info === null) return false;
  const { keyId, entityUuid, state } = info;
  const where = find.where === null ? null : readWhere(find.where, prefix);
  // The place as it was said: only a part of it may be shown.
  const report = digestKey(`${source.name} ${keyId} ${find.where}`);
  const isAgain = suspended.has(report);
  const places = isHolder ? holders : proven;
  const leak = { source: source.name, where, keyId, entityUuid, prefix, state };
  try {
    const end = () => endFound(keyring, source, info, where);
    const ended = isAgain ? [] : await places.take(end);
    tell(Object.freeze({ ...leak, ended }));
  } catch (error) {
    // Of such a row, the keyring never knows whether it has ended all: the owner has to look.
    if (UNSURE.includes(state)) tell(Object.freeze({ ...leak, ended: [] }));
    // A key was found: the reporter does not learn why it cannot be ended.
    throw isAccessError(error) ? new StoreError('a leaked key could not be ended') : error;
  }
  // Whoever holds a key may say so again: then it is still where it should not be.
  if (source.action === 'suspend' && !isHolder) suspended.add(report);
  return true;
}

/** As many reports are remembered, about a megabyte of them. */
const MOST_REMEMBERED = 10_000;

/**
 * Remembers which reports suspended a key, so that the same report, sent again, does not suspend
 * what an operator has resumed since. In this process alone; the oldest is forgotten first.
 */
function createMemory(): Memory {
  const known = new Set<string>();
  return {
    has: (report) => known.has(report),
    add: (report) => {
      known.add(report);
      const [oldest = ''] = known;
      if (known.size > MOST_REMEMBERED) known.delete(oldest);
      return known;
    },
  };
}

const UNSURE: readonly KeyState[] = ['unknown_format', 'orphaned', 'damaged'];

const ENDED: readonly KeyState[] = ['revoked', 'retired', 'expired'];

/** Returns the ids of the keys that were taken out of use. */
async function endFound(
  keyring: LeakKeyring,
  { action, actor, evenIfEnded }: Source,
  { keyId, entityUuid, state }: KeyInfo | DamagedKey,
  where: string | null,
): Promise<readonly string[]> {
  const reason = where === null ? 'reported as leaked' : `found at ${where}`;
  const authority: Authority = { entityUuid, actor, reason };
  const isOver = ENDED.includes(state) && !evenIfEnded;
  if (action === 'tell' || isOver) return [];
  if (action === 'revokeLineage') return keyring.revokeLineage(keyId, authority);
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
    // It has ended since it was looked at.
    if (isAccessError(error) && error.code === 'conflict') return [];
    throw error;
  }
}
