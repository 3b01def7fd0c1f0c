/**
 * A process of a simulation: its keyring, with or without a cache, its callers, and the keys that
 * they use.
 */
import type { KeyRecord, KeyStore } from 'keyscope';
import { createKeyring, defineScopes, digestKey, generateKey } from 'keyscope';
import type { Invalidation } from 'keyscope/cache';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { LRUCache } from 'lru-cache';
import type { Window } from './ledger.ts';

/**
 * How messages travel: in a separate step, immediately, never, or over a channel that throws or
 * hangs. `late` is `later` with a separate step for subscribing. `none` means no
 * channel.
 */
export type ChannelMode = 'none' | 'later' | 'late' | 'at once' | 'lost' | 'broken' | 'hanging';

export type Act =
  | 'verify'
  | 'issue'
  | 'rotate'
  | 'rotate with overlap'
  | 'revoke'
  | 'revokeLineage'
  | 'suspend'
  | 'resume'
  | 'withdraw';

/**
 * `first` exists from the start. `second` may get issued; its text is known in advance. `newest` is
 * the last successor handed out, or the first key before any rotation.
 */
export type KeyName = 'first' | 'second' | 'newest';

export interface Command {
  readonly act: Act;
  readonly key: KeyName;
}

/**
 * A process and its callers. Each caller does one thing after the other; all callers run
 * concurrently.
 */
export interface ProcessPlan {
  readonly isCached: boolean;
  readonly callers: readonly (readonly Command[])[];
}

/** The start of a simulation and what can happen in it. */
export interface Setting {
  readonly processes: readonly ProcessPlan[];
  readonly channel: ChannelMode;
  readonly maxStalenessMs: number;
  /** Whether the first key starts suspended. */
  readonly isSuspended: boolean;
  /** The steps in which time advances, in milliseconds. */
  readonly ticks: readonly number[];
  /** How many store calls can fail, before or after they take effect. */
  readonly failures: number;
}

/** A caller, who does one thing after the other. */
export interface Caller {
  readonly name: string;
  readonly process: Process;
  readonly commands: readonly Command[];
  /** The number of commands that have begun. */
  begun: number;
  /** The window of the current command. */
  window: Window | undefined;
}

/** The connections of a process. */
export interface Surroundings {
  readonly setting: Setting;
  readonly now: () => number;
  /** The shared database as this process sees it. */
  connect(process: Process): KeyStore;
  /** The channel as this process sees it. */
  portOf(process: Process): Invalidation;
}

const OWN = '0a0a0a0a-0000-4000-8000-00000000000a';
export const OTHER = '0b0b0b0b-0000-4000-8000-00000000000b';
export const AUTHORITY = { entityUuid: OWN, entities: [OTHER], scopes: 'all' } as const;
export const INPUT = {
  name: 'ci',
  scopes: ['threats:read'],
  expiresAt: 'never',
  accessibleEntities: [OTHER],
} as const;
const catalog = defineScopes({ threats: { read: 'List and read threats.' } });

// ── Keys ─────────────────────────────────────────────────────────────────────────────────────────

const FIRST = 0;
const SECOND = 1;
/** Each process creates different keys. */
const SEEDS_OF_A_PROCESS = 20;

/** Bytes that depend only on `seed` and yield a key at the first attempt. */
function seededBytes(seed: number, length: number): Uint8Array {
  const bytes = Uint8Array.from({ length }, (_, index) => index);
  bytes[0] = seed % 62;
  bytes[1] = Math.floor(seed / 62) % 62;
  return bytes;
}

function keyOf(seed: number): string {
  return generateKey({ prefix: 'acme', random: (length) => seededBytes(seed, length) });
}

export const FIRST_TEXT = keyOf(FIRST);
export const SECOND_TEXT = keyOf(SECOND);
export const FIRST_DIGEST = digestKey(FIRST_TEXT);
export const SECOND_DIGEST = digestKey(SECOND_TEXT);

/** The options of all keyrings. */
const KEYRING = { prefix: 'acme', catalog, peppers: 'none' } as const;

/** The first key's record. Created once, or it would take most of the time. */
async function makeFirst(): Promise<KeyRecord> {
  const store = memoryStore();
  const random = (length: number): Uint8Array => seededBytes(FIRST, length);
  const keyring = createKeyring({ ...KEYRING, store, random, now: () => 0 });
  const { info } = await keyring.issue(INPUT, AUTHORITY);
  const record = await store.findById(info.keyId);
  if (record === null) throw new Error('the first key is missing');
  return record;
}

export const FIRST_RECORD = await makeFirst();

// ── A process ────────────────────────────────────────────────────────────────────────────────────

export class Process {
  readonly number: number;
  readonly isCached: boolean;
  readonly callers: readonly Caller[];
  readonly keyring: ReturnType<typeof createKeyring<typeof catalog>>;
  /**
   * Everything it received, in order. Its next action depends only on this; without a cache, only
   * on what it received since it was last idle.
   */
  history: string[] = [];
  /** The number of its store calls, over the same period. */
  calls = 0;
  /** Receives published messages. */
  listener: ((message: string) => void) | undefined;
  /** Whether its subscription was confirmed. */
  isSubscribed = false;
  /** How many of its store calls failed. */
  failures = 0;
  openRotations = 0;
  /** How many rotations ended because the store failed. */
  brokenRotations = 0;
  /** The next key that it creates is `second`. */
  isIssuing = false;
  #minted = 0;

  constructor(world: Surroundings, number: number, { isCached, callers }: ProcessPlan) {
    this.number = number;
    this.isCached = isCached;
    this.callers = callers.map((commands, index) => ({
      name: `${number}${'abcdef'.charAt(index)}`,
      process: this,
      commands,
      begun: 0,
      window: undefined,
    }));
    this.keyring = createKeyring({
      ...KEYRING,
      now: world.now,
      storeTimeoutMs: 600_000,
      store: isCached ? this.#cached(world) : world.connect(this),
      random: (length) => seededBytes(this.#nextSeed(), length),
    });
  }

  #cached(world: Surroundings): KeyStore {
    const { channel, maxStalenessMs } = world.setting;
    return cacheStore(world.connect(this), {
      cache: new LRUCache<string, object>({ max: 10 }),
      maxStalenessMs,
      now: world.now,
      ...(channel === 'none' ? {} : { invalidation: world.portOf(this) }),
    });
  }

  #nextSeed(): number {
    if (this.isIssuing) return SECOND;
    const seed = SECOND + 1 + this.number * SEEDS_OF_A_PROCESS + this.#minted;
    this.#minted += 1;
    return seed;
  }

  get minted(): number {
    return this.#minted;
  }

  /** A call has ended. Without a cache, the process keeps nothing of it. */
  forget(): void {
    if (this.isCached || this.callers.some(({ window }) => window !== undefined)) return;
    this.history = [];
    this.calls = 0;
  }
}

/** Everything that a process received, and its current position, as text. */
export function textOfProcess(process: Process): string {
  const { callers, history, isSubscribed, failures } = process;
  const { openRotations, brokenRotations, minted } = process;
  const begun = callers.map((caller) => `${caller.begun}${caller.window === undefined}`);
  const rotations = `${openRotations} ${brokenRotations} ${minted}`;
  return `${begun.join()} ${isSubscribed} ${failures > 0} ${rotations} ${history.join(';')}`;
}
