/** Looks at strings that were found somewhere, and does with their keys what the source is for. */
import { isAccessError } from '../core/errors.js';
import { createKeyMask, maskKeyParts, replaceInvisible } from '../core/masking.js';
import type { KeyState } from '../core/record.js';
import type { Authority } from '../management/authority.js';
import type { DamagedKey, KeyInfo } from '../management/info.js';
import { isKey } from '../management/keys.js';
import type { Find, Leak, LeakConfig, LeakKeyring } from './leak-handler-options.js';
import type { Source } from './sources.js';

/** What all the doors of one handler share. */
export interface LeakEnder {
  /**
   * Whether the string is a key that a keyring knows, in whatever state; and ends it, if the source
   * is for that. No store is asked for what has not the shape and the checksum of a key.
   *
   * @throws StoreError if that is not known.
   */
  end(source: Source, find: Find): Promise<boolean>;
  /** Whether a stranger has to be sent away. */
  isFull(): boolean;
}

/** Makes it. Reports at the same moment share the places. */
export function createEnder({ keyrings, tell }: LeakConfig): LeakEnder {
  const slots = createSlots();

  async function identifyAndEnd(
    keyring: LeakKeyring,
    prefix: string,
    source: Source,
    find: Find,
  ): Promise<boolean> {
    const info = await keyring.identify(find.token, { actor: source.actor });
    if (info === null) return false;
    const where = find.where === null ? null : presentable(find.where, prefix);
    const ended = await endFound(keyring, source, info, where);
    const { keyId, entityUuid, state } = info;
    const leak: Leak = { source: source.name, where, keyId, entityUuid, prefix, state, ended };
    tell(Object.freeze(leak));
    return true;
  }

  return {
    end: async (source, find) => {
      const found = keyrings.find(({ prefix }) => isKey(find.token, { prefix }));
      if (found === undefined) return false;
      const { keyring, prefix } = found;
      return slots.take(() => identifyAndEnd(keyring, prefix, source, find));
    },
    isFull: slots.isFull,
  };
}

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

/** With `found at ` before it, shorter than a reason may be. */
const MAX_WHERE_LENGTH = 180;

/** A text that records and events can hold. Whoever wrote it may have put a key into it. */
function presentable(text: string, prefix: string): string {
  const whole = text.slice(0, 4 * MAX_WHERE_LENGTH);
  const clean = replaceInvisible(whole.normalize('NFC'));
  const masked = maskKeyParts(createKeyMask(prefix)(clean));
  return masked.slice(0, MAX_WHERE_LENGTH).toWellFormed();
}

// ── How many keys are looked at at once, whoever sends them ──────────────────────────────────────

/** Reports next to ordinary traffic may take no more of the store than this. */
const AT_ONCE = 4;

/** Holders who may wait for a place. Those beyond are told to come again. */
const MOST_WAITING = 64;

/** Places for so many. */
interface Slots {
  /** Does the work when there is a place. First come, first served. */
  take<T>(work: () => Promise<T>): Promise<T>;
  /** Whether a stranger has to be sent away. */
  isFull(): boolean;
}

/** Makes the slots of one handler. */
function createSlots(): Slots {
  const waiting: (() => void)[] = [];
  let taken = 0;

  function enter(): Promise<void> {
    if (taken < AT_ONCE) {
      taken += 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => waiting.push(resolve));
  }

  /** Hands the place on, or gives it up. */
  function leave(): void {
    const next = waiting.shift();
    if (next === undefined) taken -= 1;
    else next();
  }

  return {
    async take(work) {
      await enter();
      try {
        return await work();
      } finally {
        leave();
      }
    },
    isFull: () => waiting.length >= MOST_WAITING,
  };
}
