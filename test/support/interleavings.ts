/**
 * Two processes over one database, one step at a time. Every call of the store takes effect and is
 * answered in steps of its own, messages arrive in steps of their own, and a tape says which step
 * is next: one run is one interleaving. What each `verify` may answer follows from what had
 * happened before it began.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { KeyRecord, KeyStore } from 'keyscope';
import { createKeyring, digestKey, generateKey, isAccessError, isStoreError } from 'keyscope';
import type { Invalidation } from 'keyscope/cache';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { LRUCache } from 'lru-cache';
import { AUTHORITY, catalog, NOWHERE, OTHER, PLAIN, stoppedClock } from './keyring.ts';

export const MAX_STALENESS_MS = 8_000;
const ABSENT_MS = 5_000;

/**
 * How messages travel: at once, in a step of their own, never, or with a channel that throws or
 * hangs.
 */
export type ChannelMode = 'at once' | 'later' | 'lost' | 'broken' | 'hanging';

export interface Command {
  readonly process: 0 | 1;
  readonly act: 'verify' | 'issue' | 'revoke' | 'suspend' | 'withdraw' | 'rotate';
  /** Which key: a number below {@link KEYS}, or that of a successor. */
  readonly key: number;
  /** Whether the write that ends a key takes effect and then fails. */
  readonly fails: boolean;
}

export interface Run {
  readonly channel: ChannelMode;
  readonly commands: readonly Command[];
  /** What happens next, as a number modulo the number of things that can. */
  readonly tape: readonly number[];
}

/**
 * Keys whose texts are known before they are issued, so that they can be tried too early. The first
 * exists.
 */
export const KEYS = 2;
const FOR_TWO = { ...AUTHORITY, entities: [OTHER] } as const;
const ADVANCES = [1, 400, 1_000, 2_500, 5_000, 8_000] as const;

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

/** Lets everything go on that waits for nothing but its turn. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

// ── What is known ────────────────────────────────────────────────────────────────────────────────

/**
 * What is known of a key's life. Times on the one clock. Keys are made for two entities; here a key
 * has ended once it is refused, and also once one of them withdrew from it.
 */
interface Life {
  keyId: string;
  /** When the database had it. */
  madeAt: number | undefined;
  /** Whose `issue` or `rotate` has been answered since. */
  readonly madeBy: Set<number>;
  /** When the database had its end. */
  endedAt: number | undefined;
  /** Which processes have been told of its end: by their own write, or by a message. */
  readonly toldTo: Set<number>;
}

/** The lives of all keys, by their digests. */
class Lives {
  readonly #lives = new Map<string, Life>();
  readonly #digests = new Map<string, string>();

  of(digest: string): Life {
    const known = this.#lives.get(digest);
    if (known !== undefined) return known;
    const life: Life = {
      keyId: NOWHERE,
      madeAt: undefined,
      madeBy: new Set(),
      endedAt: undefined,
      toldTo: new Set(),
    };
    this.#lives.set(digest, life);
    return life;
  }

  ofText(text: string): Life {
    return this.of(digestKey(text));
  }

  ofKeyId(keyId: string): Life {
    return this.of(this.#digests.get(keyId) ?? '');
  }

  inserted({ digest, keyId, accessibleEntities }: KeyRecord, at: number): void {
    this.#digests.set(keyId, digest);
    const life = this.of(digest);
    life.keyId = keyId;
    life.madeAt = at;
    // The successor of a key from which an entity withdrew.
    if (!accessibleEntities.includes(OTHER)) life.endedAt = at;
  }

  /**
   * Whoever is told of the end of a key refuses it from then on; of an end that was never written
   * nothing follows.
   */
  tell(keyId: string, process: number): void {
    const life = this.ofKeyId(keyId);
    if (life.endedAt !== undefined) life.toldTo.add(process);
  }
}

// ── Two processes ────────────────────────────────────────────────────────────────────────────────

/** What both processes share, and what the run knows. */
class World {
  readonly wrong: string[] = [];
  readonly waiting: (() => void)[] = [];
  readonly clock = stoppedClock(0);
  readonly database = memoryStore();
  readonly lives = new Lives();
  /** The keys that can be tried; successors are added as they are handed out. */
  readonly texts: string[] = Array.from({ length: KEYS }, (_, index) => keyOf(index));
  readonly listeners: ((keyId: string) => void)[] = [];
  readonly channel: ChannelMode;
  successors = KEYS;

  constructor(channel: ChannelMode) {
    this.channel = channel;
  }

  /** Waits until the tape says that it is this one's turn. */
  step(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  /** A call of the database takes effect in a step, and is answered in another. */
  async call<T>(act: () => T): Promise<Awaited<T>> {
    await this.step();
    const answer = await act();
    await this.step();
    return answer;
  }
}

/** What the next write and the next key of a process are like. */
interface State {
  fails: boolean;
  seed: number;
}

/** The one database as a process sees it. */
function connect(world: World, process: number, state: State): KeyStore {
  const { database, lives, clock } = world;
  return {
    ...database,
    findById: (keyId) => world.call(() => database.findById(keyId)),
    findByDigest: (digests) => world.call(() => database.findByDigest(digests)),
    insert: (record) =>
      world.call(() => {
        database.insert(record);
        lives.inserted(record, clock.now());
      }),
    async mark(keyId, mark) {
      const { fails } = state;
      const wrote = await world.call(() => {
        const answer = database.mark(keyId, mark) as boolean;
        if (answer) lives.ofKeyId(keyId).endedAt ??= clock.now();
        return answer;
      });
      lives.tell(keyId, process);
      if (fails) throw new Error('the connection broke');
      return wrote;
    },
  };
}

/** The channel as a process sees it. */
function portOf(world: World, process: number): Invalidation {
  const { channel, listeners, lives } = world;
  const other = 1 - process;
  return {
    subscribe(listener) {
      listeners[process] = listener;
    },
    async publish(keyId) {
      if (channel === 'broken') throw new Error('no channel');
      if (channel === 'hanging') await new Promise(() => {});
      if (channel === 'lost') return;
      if (channel === 'later') await world.step();
      listeners[other]?.(keyId);
      lives.tell(keyId, other);
    },
  };
}

function startProcess(world: World, number: number) {
  const { now } = world.clock;
  const state: State = { fails: false, seed: 0 };
  const store = cacheStore(connect(world, number, state), {
    cache: new LRUCache<string, object>({ max: 10 }),
    maxStalenessMs: MAX_STALENESS_MS,
    invalidation: portOf(world, number),
    now,
  });
  const keyring = createKeyring({
    prefix: 'acme',
    catalog,
    peppers: 'none',
    now,
    storeTimeoutMs: 600_000,
    store,
    random: (length) => seededBytes(state.seed, length),
  });
  return { number, state, keyring };
}

type Process = ReturnType<typeof startProcess>;

/** Verifies a key, and notes an answer that was wrong given what had happened before. */
async function verify(world: World, { number, keyring }: Process, text: string): Promise<void> {
  const life = world.lives.ofText(text);
  const now = world.clock.now();
  const { madeAt, endedAt } = life;
  const isLongEnded = endedAt !== undefined && now >= endedAt + MAX_STALENESS_MS;
  const mustRefuse = life.toldTo.has(number) || isLongEnded;
  const isLongMade = madeAt !== undefined && now >= madeAt + ABSENT_MS;
  const mustPass = life.madeBy.has(number) || isLongMade;

  const passed = await keyring.verify(text).then(
    ({ accessibleEntities }) => accessibleEntities.includes(OTHER),
    (error: unknown) => {
      if (!isAccessError(error)) world.wrong.push(`verify broke: ${String(error)}`);
      return false;
    },
  );
  if (passed && mustRefuse)
    world.wrong.push(`process ${number} let an ended key in, or did not narrow it`);
  // Where it ended meanwhile, either answer is right.
  const isLive = life.endedAt === undefined;
  if (!passed && mustPass && isLive) world.wrong.push(`process ${number} refused a live key`);
}

async function issue(world: World, { keyring, state, number }: Process, n: number): Promise<void> {
  state.seed = n % KEYS;
  const { key } = await keyring.issue({ ...PLAIN, accessibleEntities: [OTHER] }, FOR_TWO);
  world.lives.ofText(key).madeBy.add(number);
}

async function rotate(
  world: World,
  { keyring, state, number }: Process,
  keyId: string,
): Promise<void> {
  world.successors += 1;
  state.seed = world.successors;
  const { key } = await keyring.rotate(keyId, { overlapMs: 0 }, FOR_TWO);
  world.lives.ofText(key).madeBy.add(number);
  world.texts.push(key);
}

async function perform(world: World, process: Process, command: Command): Promise<void> {
  const { act, key, fails } = command;
  if (act === 'issue') {
    process.state.fails = fails;
    return issue(world, process, key);
  }
  const text = world.texts[key % world.texts.length] as string;
  if (act === 'verify') return verify(world, process, text);
  process.state.fails = fails;
  const { keyId } = world.lives.ofText(text);
  if (act === 'rotate') return rotate(world, process, keyId);
  const { keyring } = process;
  if (act === 'withdraw') return keyring.withdraw(keyId, { entityUuid: OTHER });
  await (act === 'suspend' ? keyring.suspend(keyId, AUTHORITY) : keyring.revoke(keyId, AUTHORITY));
}

// ── A run ────────────────────────────────────────────────────────────────────────────────────────

/** Runs one interleaving and says what was wrong with it; nothing where it was right. */
export async function interleave({ channel, commands, tape }: Run): Promise<readonly string[]> {
  const world = new World(channel);
  const { waiting, wrong, clock } = world;
  const first = startProcess(world, 0);
  const second = startProcess(world, 1);
  await issueFirst(world, first);

  const left = [...commands];
  function start(): void {
    const command = left.shift();
    if (command === undefined) return;
    const process = command.process === 0 ? first : second;
    perform(world, process, command).catch((error: unknown) => {
      // Refused for a reason, or broken as it was told to break.
      if (!isAccessError(error) && !isStoreError(error)) wrong.push(String(error));
    });
  }

  for (const number of tape) {
    // The clock once, commands twice, and whatever waits once each.
    const choice = number % (waiting.length + 3);
    if (choice === 0) clock.advance(ADVANCES[number % ADVANCES.length] ?? 1);
    else if (choice <= 2 && left.length > 0) start();
    else waiting.splice(Math.max(0, choice - 3), 1)[0]?.();
    await settle();
  }
  while (left.length > 0 || waiting.length > 0) {
    start();
    waiting.shift()?.();
    await settle();
  }
  return wrong;
}

/** Makes the first key before anything else happens. */
async function issueFirst(world: World, process: Process): Promise<void> {
  const issued = issue(world, process, 0);
  // The insert takes effect in a step, and is answered in another.
  for (let steps = 0; steps < 2; steps++) {
    world.waiting.shift()?.();
    await settle();
  }
  await issued;
}

// ── Many runs ────────────────────────────────────────────────────────────────────────────────────

const CHANNELS: readonly ChannelMode[] = ['at once', 'later', 'lost', 'broken', 'hanging'];

const ACTS = [
  ...(['verify', 'verify', 'verify', 'verify', 'issue'] as const),
  ...(['revoke', 'suspend', 'withdraw', 'rotate'] as const),
];
const command: fc.Arbitrary<Command> = fc.record({
  process: fc.constantFrom(0, 1),
  act: fc.constantFrom(...ACTS),
  key: fc.nat({ max: 2 }),
  fails: fc.boolean(),
});
const run: fc.Arbitrary<Run> = fc.record({
  channel: fc.constantFrom(...CHANNELS),
  commands: fc.array(command, { minLength: 6, maxLength: 12 }),
  tape: fc.array(fc.nat({ max: 10_000 }), { minLength: 20, maxLength: 50 }),
});

/**
 * Fails on the first of so many runs in which somebody saw too old a state, made as small as can
 * be.
 */
export async function interleavings(numRuns: number): Promise<void> {
  const property = fc.asyncProperty(run, async (given) => {
    assert.deepEqual(await interleave(given), []);
  });
  // Most of what happens are refusals, and their stacks take a quarter of the time.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    await fc.assert(property, { numRuns });
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
