/**
 * A process of a simulation: its keyring, perhaps with a cache, and what its callers do. And the
 * keys that they do it to.
 */
import type { KeyRecord, KeyStore } from 'keyscope';
import { createKeyring, defineScopes, digestKey, generateKey } from 'keyscope';
import type { Invalidation } from 'keyscope/cache';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { LRUCache } from 'lru-cache';
import type { Window } from './ledger.ts';

/**
 * How messages travel: in a step of their own, at once, never, or with a channel that throws or
 * hangs. `late`: as `later`, but to subscribe takes a step, too. `none`: there is no channel.
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
 * The key that exists from the start; one that is issued or not, and whose text is known; the
 * newest successor that was handed out, and the first key as long as there is none.
 */
export type KeyName = 'first' | 'second' | 'newest';

export interface Command {
  readonly act: Act;
  readonly key: KeyName;
}

/** A process, and what its callers do: each one thing after the other, all of them at once. */
export interface ProcessPlan {
  readonly isCached: boolean;
  readonly callers: readonly (readonly Command[])[];
}

/** Where a simulation begins, and what can happen in it. */
export interface Setting {
  readonly processes: readonly ProcessPlan[];
  readonly channel: ChannelMode;
  readonly maxStalenessMs: number;
  /** Whether the first key is suspended from the start. */
  readonly isSuspended: boolean;
  /** By how much time advances, one step each, in milliseconds. */
  readonly ticks: readonly number[];
  /** How many calls of the store can fail, before or after they take effect. */
  readonly failures: number;
}

/** One after the other, what somebody does. */
export interface Caller {
  readonly name: string;
  readonly process: Process;
  readonly commands: readonly Command[];
  /** How many commands have begun. */
  begun: number;
  /** Of the command under way. */
  window: Window | undefined;
}

/** What a process is connected to. */
export interface Surroundings {
  readonly setting: Setting;
  readonly now: () => number;
  /** The one database as it sees it. */
  connect(process: Process): KeyStore;
  /** The channel as it sees it. */
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
/** Each process makes keys of its own. */
const SEEDS_OF_A_PROCESS = 20;

/** Bytes that depend on `seed` alone, and make a key at the first attempt. */
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

/** What all keyrings have. */
const KEYRING = { prefix: 'acme', catalog, peppers: 'none' } as const;

/** The first key as it is stored. Made once: otherwise most of the time would go into it. */
async function makeFirst(): Promise<KeyRecord> {
  const store = memoryStore();
  const random = (length: number): Uint8Array => seededBytes(FIRST, length);
  const keyring = createKeyring({ ...KEYRING, store, random, now: () => 0 });
  const { info } = await keyring.issue(INPUT, AUTHORITY);
  const record = await store.findById(info.keyId);
  if (record === null) throw new Error('the first key is not there');
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
   * What it was given, in order. What it does next follows from that alone; without a cache, from
   * what it was given since its calls were last over.
   */
  history: string[] = [];
  /** How many calls of the store it made, likewise. */
  calls = 0;
  /** Hears what is published. */
  listener: ((message: string) => void) | undefined;
  /** Its subscription was answered. */
  isSubscribed = false;
  /** How many calls of the store failed in it. */
  failures = 0;
  openRotations = 0;
  /** How many rotations ended because the store failed. */
  brokenRotations = 0;
  /** The next key that it makes is the second one. */
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

  /** A call is over. Without a cache, nothing of it is left. */
  forget(): void {
    if (this.isCached || this.callers.some(({ window }) => window !== undefined)) return;
    this.history = [];
    this.calls = 0;
  }
}

/** What it was given and what it is at, as text. */
export function textOfProcess(process: Process): string {
  const { callers, history, isSubscribed, failures } = process;
  const { openRotations, brokenRotations, minted } = process;
  const begun = callers.map((caller) => `${caller.begun}${caller.window === undefined}`);
  const rotations = `${openRotations} ${brokenRotations} ${minted}`;
  return `${begun.join()} ${isSubscribed} ${failures > 0} ${rotations} ${history.join(';')}`;
}
