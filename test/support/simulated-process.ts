/** A process of a simulation: its keyring, perhaps with a cache, its callers, and their keys. */
import type { KeyRecord, KeyStore } from 'keyscope';
import { createKeyring, defineScopes, digestKey, generateKey } from 'keyscope';
import type { Invalidation } from 'keyscope/cache';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { LRUCache } from 'lru-cache';
import type { Window } from './ledger.ts';

/**
 * How messages travel: in a separate step, at once, never, or with a channel that throws or hangs.
 * `late`: like `later`, but subscribing also takes a step. `none`: without a channel.
 */
export type ChannelMode = 'none' | 'later' | 'late' | 'at once' | 'lost' | 'broken' | 'hanging';

export type Act =
  | 'verify'
  | 'issue'
  /** With the first key as the one that makes the call. */
  | 'issue under'
  | 'rotate under'
  | 'resume under'
  | 'rotate'
  | 'rotate with overlap'
  | 'revoke'
  | 'revokeLineage'
  | 'suspend'
  | 'resume'
  | 'withdraw';

/**
 * `first` exists from the start. `second` may be issued or not, and its text is known. `newest` is
 * the newest successor that was handed out, or `first` until there is one.
 */
export type KeyName = 'first' | 'second' | 'newest';

export interface Command {
  readonly act: Act;
  readonly key: KeyName;
}

/**
 * A process and its callers. Each caller makes its calls one after another; the callers run
 * concurrently.
 */
export interface ProcessPlan {
  readonly isCached: boolean;
  readonly callers: readonly (readonly Command[])[];
}

/** The start of a simulation, and the events that can happen in it. */
export interface Setting {
  readonly processes: readonly ProcessPlan[];
  readonly channel: ChannelMode;
  readonly maxStalenessMs: number;
  /** Whether the first key is suspended from the start. */
  readonly isSuspended: boolean;
  /** Whether the second key exists from the start, suspended, and was issued under the first. */
  readonly hasChild: boolean;
  /** Milliseconds by which time advances, each in one step. */
  readonly ticks: readonly number[];
  /** The number of store calls that can fail, before or after they take effect. */
  readonly failures: number;
}

/** A caller, which makes its calls one after another. */
export interface Caller {
  readonly name: string;
  readonly process: Process;
  readonly commands: readonly Command[];
  /** The number of commands that have started. */
  begun: number;
  /** The window of the command in progress. */
  window: Window | undefined;
}

/** The surroundings of a process. */
export interface Surroundings {
  readonly setting: Setting;
  readonly now: () => number;
  /** Returns the database as this process sees it. */
  connect(process: Process): KeyStore;
  /** Returns the channel as this process sees it. */
  portOf(process: Process): Invalidation;
}

const OWN = '0a0a0a0a-0000-4000-8000-00000000000a';
export const OTHER = '0b0b0b0b-0000-4000-8000-00000000000b';
export const AUTHORITY = { entityId: OWN, entities: [OTHER], scopes: 'all' } as const;
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
/** Separates the random bytes of processes, so that each makes different keys. */
const SEEDS_OF_A_PROCESS = 20;

/** Returns bytes that depend only on `seed`, and make a key at the first attempt. */
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

/** Makes the record of the first key. Only once, because it would take most of the time. */
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

/** The record of the second key, if it exists from the start. */
export const CHILD_RECORD: KeyRecord = {
  ...FIRST_RECORD,
  keyId: '0e0e0e0e-0000-4000-8000-00000000000e',
  rootKeyId: '0e0e0e0e-0000-4000-8000-00000000000e',
  issuedUnder: FIRST_RECORD.keyId,
  digest: SECOND_DIGEST,
  suspendedAt: 0,
};

// ── A process ────────────────────────────────────────────────────────────────────────────────────

export class Process {
  readonly number: number;
  readonly isCached: boolean;
  readonly callers: readonly Caller[];
  readonly keyring: ReturnType<typeof createKeyring<typeof catalog>>;
  /**
   * The answers that it received, in order. They determine what it does next. Without a cache, the
   * answers since its calls were last over determine it.
   */
  history: string[] = [];
  /** The number of its store calls, likewise. */
  calls = 0;
  /** Receives the published messages. */
  listener: ((message: string) => void) | undefined;
  /** Whether its subscription was answered. */
  isSubscribed = false;
  /** The number of its store calls that failed. */
  failures = 0;
  openRotations = 0;
  /** The number of rotations that ended because the store failed. */
  brokenRotations = 0;
  /** Whether the next key that it makes is the second one. */
  makesSecond = false;
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
    if (this.makesSecond) {
      this.makesSecond = false;
      return SECOND;
    }
    const seed = SECOND + 1 + this.number * SEEDS_OF_A_PROCESS + this.#minted;
    this.#minted += 1;
    return seed;
  }

  get minted(): number {
    return this.#minted;
  }

  /** Notes that a call is over. Without a cache, this clears the history. */
  forget(): void {
    if (this.isCached || this.callers.some(({ window }) => window !== undefined)) return;
    this.history = [];
    this.calls = 0;
  }
}

/** Describes the history and the current call of a process. */
export function textOfProcess(process: Process): string {
  const { callers, history, isSubscribed, failures } = process;
  const { openRotations, brokenRotations, minted } = process;
  const begun = callers.map((caller) => `${caller.begun}${caller.window === undefined}`);
  const rotations = `${openRotations} ${brokenRotations} ${minted}`;
  return `${begun.join()} ${isSubscribed} ${failures > 0} ${rotations} ${history.join(';')}`;
}
