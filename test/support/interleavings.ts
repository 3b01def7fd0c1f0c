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
import { AUTHORITY, catalog, NOWHERE, PLAIN, stoppedClock } from './keyring.ts';

export const MAX_STALENESS_MS = 8_000;
const ABSENT_MS = 5_000;

/**
 * How messages travel: at once, in a step of their own, never, or with a channel that throws or
 * hangs.
 */
export type ChannelMode = 'at once' | 'later' | 'lost' | 'broken' | 'hanging';

export interface Command {
  readonly process: 0 | 1;
  readonly act: 'verify' | 'issue' | 'revoke' | 'rotate';
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
const ADVANCES = [1, 400, 1_000, 2_500, 5_000, 8_000] as const;

/** Bytes that depend on `seed` alone, and make a key at the first attempt. */
const seeded = (seed: number) => (length: number) =>
  Uint8Array.from({ length }, (_, i) =>
    i === 0 ? seed % 62 : i === 1 ? Math.floor(seed / 62) % 62 : i,
  );

const textOf = (seed: number): string => generateKey({ prefix: 'acme', random: seeded(seed) });

/** What is known of a key's life, by its digest. Times on the one clock. */
interface Life {
  keyId: string;
  /** When the database had it, and whose `issue` or `rotate` has been answered since. */
  madeAt: number | undefined;
  readonly madeBy: Set<number>;
  /**
   * When the database had its end, and which processes have been told: by their own write, or by a
   * message.
   */
  endedAt: number | undefined;
  readonly toldTo: Set<number>;
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Runs one interleaving and says what was wrong with it; nothing where it was right. */
export async function interleave({ channel, commands, tape }: Run): Promise<readonly string[]> {
  const wrong: string[] = [];
  const waiting: (() => void)[] = [];
  const step = () => new Promise<void>((resolve) => waiting.push(resolve));
  const clock = stoppedClock(0);
  const database = memoryStore();
  const lives = new Map<string, Life>();
  const digestOf = new Map<string, string>();
  const texts = Array.from({ length: KEYS }, (_, i) => textOf(i));

  function lifeOf(digest: string): Life {
    const life = lives.get(digest) ?? {
      keyId: NOWHERE,
      madeAt: undefined,
      madeBy: new Set(),
      endedAt: undefined,
      toldTo: new Set(),
    };
    lives.set(digest, life);
    return life;
  }

  function inserted({ digest, keyId }: KeyRecord): void {
    digestOf.set(keyId, digest);
    Object.assign(lifeOf(digest), { keyId, madeAt: clock.now() });
  }

  /**
   * Whoever is told of the end of a key refuses it from then on; of an end that was never written
   * nothing follows.
   */
  function tell(keyId: string, process: number): void {
    const life = lifeOf(digestOf.get(keyId) ?? '');
    if (life.endedAt !== undefined) life.toldTo.add(process);
  }

  /** The one database as a process sees it. */
  function connection(number: number, state: { readonly fails: boolean }): KeyStore {
    const call = async <T>(act: () => T): Promise<T> => {
      await step();
      const answer = act();
      await step();
      return answer;
    };
    return {
      ...database,
      findById: (keyId) => call(() => database.findById(keyId)) as Promise<KeyRecord | null>,
      findByDigest: (digests) =>
        call(() => database.findByDigest(digests)) as Promise<readonly KeyRecord[]>,
      insert: (record) =>
        call(() => {
          database.insert(record);
          inserted(record);
        }),
      async markEnded(keyId, ending) {
        const { fails } = state;
        const wrote = await call(() => {
          const answer = database.markEnded(keyId, ending) as boolean;
          if (answer) lifeOf(digestOf.get(keyId) ?? '').endedAt ??= clock.now();
          return answer;
        });
        tell(keyId, number);
        if (fails) throw new Error('the connection broke');
        return wrote;
      },
    };
  }

  const listeners: ((keyId: string) => void)[] = [];
  const port = (process: number): Invalidation => ({
    subscribe(listener) {
      listeners[process] = listener;
    },
    async publish(keyId) {
      if (channel === 'broken') throw new Error('no channel');
      if (channel === 'hanging') await new Promise(() => {});
      if (channel === 'lost') return;
      if (channel === 'later') await step();
      listeners[1 - process]?.(keyId);
      tell(keyId, 1 - process);
    },
  });

  const processes = [0, 1].map((number) => {
    const state = { fails: false, seed: 0 };
    const random = (length: number) => seeded(state.seed)(length);
    const store = cacheStore(connection(number, state), {
      cache: new LRUCache<string, object>({ max: 10 }),
      maxStalenessMs: MAX_STALENESS_MS,
      invalidation: port(number),
      now: clock.now,
    });
    const options = {
      prefix: 'acme',
      catalog,
      peppers: 'none',
      now: clock.now,
      storeTimeoutMs: 600_000,
    } as const;
    return { number, state, keyring: createKeyring({ ...options, store, random }) };
  });
  type Process = (typeof processes)[number];

  async function verify({ number, keyring }: Process, text: string): Promise<void> {
    const life = lifeOf(digestKey(text));
    const now = clock.now();
    const { madeAt, endedAt } = life;
    const ended =
      life.toldTo.has(number) || (endedAt !== undefined && now >= endedAt + MAX_STALENESS_MS);
    const made = life.madeBy.has(number) || (madeAt !== undefined && now >= madeAt + ABSENT_MS);
    const passed = await keyring.verify(text).then(
      () => true,
      (error: unknown) => {
        if (!isAccessError(error)) wrong.push(`verify broke: ${error}`);
        return false;
      },
    );
    if (passed && ended) wrong.push(`process ${number} let an ended key in`);
    if (!passed && made && life.endedAt === undefined)
      wrong.push(`process ${number} refused a live key`);
  }

  let successors = KEYS;
  async function act(process: Process, { act: kind, key: n, fails }: Command): Promise<void> {
    const text = texts[n % (kind === 'issue' ? KEYS : texts.length)] as string;
    const { keyring, state, number } = process;
    const { keyId } = lifeOf(digestKey(text));
    if (kind === 'verify') return verify(process, text);
    state.fails = fails;
    if (kind === 'issue') {
      state.seed = n % KEYS;
      await keyring.issue(PLAIN, AUTHORITY);
      lifeOf(digestKey(text)).madeBy.add(number);
    } else if (kind === 'revoke') {
      await keyring.revoke(keyId, AUTHORITY);
    } else {
      successors += 1;
      state.seed = successors;
      const { key } = await keyring.rotate(keyId, { overlapMs: 0 }, AUTHORITY);
      lifeOf(digestKey(key)).madeBy.add(number);
      texts.push(key);
    }
  }

  // ── The run ──
  let next = 0;
  function start(): void {
    const command = commands[next++] as Command;
    act(processes[command.process] as Process, command).catch((error: unknown) => {
      // Refused for a reason, or broken as it was told to break.
      if (!isAccessError(error) && !isStoreError(error)) wrong.push(String(error));
    });
  }

  const [first] = processes as [Process, Process];
  const issued = first.keyring.issue(PLAIN, AUTHORITY);
  for (let i = 0; i < 2; i++) {
    waiting.shift()?.();
    await settle();
  }
  await issued;
  lifeOf(digestKey(texts[0] as string)).madeBy.add(0);
  for (const number of tape) {
    // The clock once, commands twice, and whatever waits once each.
    const choice = number % (waiting.length + 3);
    if (choice === 0) clock.advance(ADVANCES[number % ADVANCES.length] ?? 1);
    else if (choice <= 2 && next < commands.length) start();
    else waiting.splice(Math.max(0, choice - 3), 1)[0]?.();
    await settle();
  }
  while (next < commands.length || waiting.length > 0) {
    if (next < commands.length) start();
    waiting.shift()?.();
    await settle();
  }
  return wrong;
}

// ── Runs ──────────────────────────────────────────────────────────────────────────────────────────────

const CHANNELS: readonly ChannelMode[] = ['at once', 'later', 'lost', 'broken', 'hanging'];

const command: fc.Arbitrary<Command> = fc.record({
  process: fc.constantFrom(0, 1),
  act: fc.constantFrom('verify', 'verify', 'verify', 'issue', 'revoke', 'rotate'),
  key: fc.nat({ max: 2 }),
  fails: fc.boolean(),
});
const run = fc.record({
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
  await fc.assert(property, { numRuns }).finally(() => {
    Error.stackTraceLimit = stackTraceLimit;
  });
}
