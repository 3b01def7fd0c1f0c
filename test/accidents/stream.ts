/**
 * A steady stream of requests, new keys and revocations, with the result of each. Requests arrive
 * by the clock, whether or not the earlier ones are answered: a stream that waited for answers
 * would slow down with the store, and hide how many were refused.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createKeyring,
  definePolicy,
  defineScopes,
  isAccessError,
  isStoreError,
  type KeyStore,
} from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import { LRUCache } from 'lru-cache';

/** Milliseconds after which a keyring gives up. */
const STORE_TIMEOUT_MS = 1_000;
/** Milliseconds after which a request counts as never answered. */
const ANSWER_LIMIT_MS = 3 * STORE_TIMEOUT_MS;
/** Milliseconds that the final check for losses waits for the store. */
const PATIENCE_MS = 30_000;
/** `maxStalenessMs` of the caches. */
const STALENESS_MS = 1_000;
/**
 * Milliseconds without any failure before the system counts as whole again. Longer than a keyring
 * waits, because an unanswered call only shows then.
 */
const CALM_MS = 1_500;
/** Live keys that stay from start to end. */
const HONEST_KEYS = 50;
/** New keys that stay for a while before the stream revokes them. */
const YOUNG_KEYS = 5;
/** Half of the requests with revoked keys use the newest ones, whose revocation may be lost. */
const NEWEST = 20;
/** The number of revoked keys to remember. Remembering all would grow, and look like a leak. */
const REMEMBERED = 2_000;
/** The size of the caches: small, so that they are soon full. */
const CACHED = 200;

export const catalog = defineScopes({ threats: { read: 'List and read threats.' } });
const policy = definePolicy(catalog, { list: ['threats:read'] });
export const peppers = [{ id: 'p1', secret: 'a pepper of this test alone, with 32 bytes' }];
export const authority = {
  entityId: '0a0a0a0a-0000-4000-8000-00000000000a',
  scopes: 'all',
} as const;
const input = { name: 'n', scopes: ['threats:read'], expiresAt: 'never' } as const;

/** Calls a second. */
export interface Rates {
  /** Requests with a good key. */
  readonly honest: number;
  /** Requests with a revoked key. */
  readonly revoked: number;
  /** New keys, and as many revocations. */
  readonly changes: number;
}

/** The stores of two processes over one database. */
export interface Ways {
  /** For the process that makes and revokes keys. */
  readonly managing: KeyStore;
  /** For the process that answers requests. */
  readonly guarding: KeyStore;
}

/** The result of a stream. */
export interface Figures {
  /** Requests with good keys. */
  asked: number;
  /** Requests with good keys that were let in. */
  answered: number;
  /** Requests that were refused with 503. */
  refused: number;
  /** Requests whose good key was refused as a bad one. The client then gets a new key. */
  denied: number;
  /** Keys that were refused as bad although they were not lost. */
  deniedThoughKept: number;
  /** The longest that an answer took, from when the request was due, in milliseconds. */
  slowestMs: number;
  /** Requests without an answer for three times as long as the keyring waits. */
  unanswered: number;
  /** Keys that were let in although `revoke` had answered before. */
  letIn: number;
  /** The part of `letIn` whose revocation was not lost. */
  letInThoughKept: number;
  /** Keys that a cache let in later than it promises. */
  letInLate: number;
  /** Keys whose `issue` had answered, and that are gone. */
  lostKeys: number;
  /** Revocations that had answered, and that are gone. */
  lostRevocations: number;
  /** The number of keys that were issued, and below of those revoked. */
  issued: number;
  revoked: number;
}

/** An issued key, and the time at which its revocation was answered. */
interface Watched {
  readonly key: string;
  readonly keyId: string;
  revokedAt: number;
  wasDenied: boolean;
  wasLetIn: boolean;
  wasLetInLate: boolean;
}

export interface Stream {
  /** The figures so far. Losses only show at the end. */
  readonly figures: Readonly<Figures>;
  /**
   * Waits until everything has worked for a while, including a new key and a revocation. Returns
   * the time of the last failure, as `performance.now()`, or `null` without one since `since`.
   */
  whole(since: number, limitMs: number): Promise<number | null>;
  /** Stops the stream, and waits for open calls. */
  stop(): Promise<void>;
  /** Stops the stream, waits for open calls, and looks up all keys that were ever issued. */
  end(): Promise<Figures>;
}

type Ring = ReturnType<typeof ringOf>;

function ringOf(store: KeyStore) {
  const usage = { intervalMs: 1_000, granularityMs: 1_000 };
  return createKeyring({
    prefix: 'acme',
    policy,
    peppers,
    store,
    storeTimeoutMs: STORE_TIMEOUT_MS,
    usage,
    // Usage that cannot be written while the database is away is expected here.
    onError: () => {},
  });
}

type Answer = 'passed' | 'unavailable' | 'unanswered' | 'denied';

async function answerOf(ring: Ring, key: string): Promise<Answer> {
  const clock = new AbortController();
  const late = sleep(ANSWER_LIMIT_MS, 'unanswered' as const, { signal: clock.signal });
  late.catch(() => {});
  async function admit(): Promise<Answer> {
    try {
      // As an adapter calls it, so that the keyring notes usage, too.
      await ring.admit(`Bearer ${key}`, { operation: 'list' });
      return 'passed';
    } catch (error) {
      if (isStoreError(error)) return 'unavailable';
      if (isAccessError(error)) return 'denied';
      throw error;
    }
  }
  try {
    return await Promise.race([admit(), late]);
  } finally {
    clock.abort();
  }
}

/** Calls `act` so many times a second until it is stopped, then waits for open calls. */
async function arrive(
  rate: number,
  isOn: () => boolean,
  act: (due: number) => Promise<void>,
): Promise<void> {
  const start = performance.now();
  const underWay = new Set<Promise<void>>();
  for (let count = 0; isOn(); ) {
    const due = Math.floor(((performance.now() - start) * rate) / 1_000);
    for (; count < due; count++) {
      const dueAt = start + (count * 1_000) / rate;
      const acting: Promise<void> = act(dueAt).finally(() => underWay.delete(acting));
      underWay.add(acting);
    }
    await sleep(5);
  }
  await Promise.all(underWay);
}

function oneOf<T>(list: readonly T[], newest: number = list.length): T | undefined {
  const count = Math.min(newest, list.length);
  return list[list.length - 1 - Math.floor(Math.random() * count)];
}

/** Starts a stream, once there are enough keys to send requests. */
export async function startStream(
  ways: Ways,
  rates: Rates,
  remembered: number = REMEMBERED,
): Promise<Stream> {
  const manager = ringOf(ways.managing);
  const guard = ringOf(ways.guarding);
  const cached = ringOf(
    cacheStore(ways.guarding, {
      cache: new LRUCache<string, object>({ max: CACHED }),
      maxStalenessMs: STALENESS_MS,
    }),
  );
  const figures: Figures = {
    asked: 0,
    answered: 0,
    refused: 0,
    denied: 0,
    deniedThoughKept: 0,
    slowestMs: 0,
    unanswered: 0,
    letIn: 0,
    letInThoughKept: 0,
    letInLate: 0,
    lostKeys: 0,
    lostRevocations: 0,
    issued: 0,
    revoked: 0,
  };
  const honest: Watched[] = [];
  const young: Watched[] = [];
  /** Good keys that a request was refused with as bad ones. */
  const denied: Watched[] = [];
  const revoked: Watched[] = [];
  let isOn = true;
  let wentWrong = Number.NEGATIVE_INFINITY;
  let changedWell = Number.NEGATIVE_INFINITY;

  async function make(): Promise<Watched> {
    const { key, info } = await manager.issue(input, authority);
    figures.issued += 1;
    const { keyId } = info;
    const revokedAt = Number.POSITIVE_INFINITY;
    return { key, keyId, revokedAt, wasDenied: false, wasLetIn: false, wasLetInLate: false };
  }

  async function askHonestly(due: number): Promise<void> {
    const watched = oneOf(honest) as Watched;
    figures.asked += 1;
    const answer = await answerOf(guard, watched.key);
    const now = performance.now();
    figures.slowestMs = Math.max(figures.slowestMs, now - due);
    if (answer === 'passed') figures.answered += 1;
    else wentWrong = now;
    if (answer === 'unavailable') figures.refused += 1;
    if (answer === 'unanswered') figures.unanswered += 1;
    if (answer !== 'denied') return;
    figures.denied += 1;
    await replace(watched);
  }

  /** Replaces a key that was refused as a bad one. */
  async function replace(watched: Watched): Promise<void> {
    if (watched.wasDenied) return;
    watched.wasDenied = true;
    try {
      const next = await make();
      honest[honest.indexOf(watched)] = next;
      denied.push(watched);
    } catch (error) {
      if (!isStoreError(error)) throw error;
      watched.wasDenied = false;
    }
  }

  async function askRevoked(): Promise<void> {
    const watched = oneOf(revoked, Math.random() < 0.5 ? NEWEST : revoked.length);
    if (watched === undefined) return;
    const began = performance.now();
    const [answer, late] = await Promise.all([
      answerOf(guard, watched.key),
      answerOf(cached, watched.key),
    ]);
    if (answer === 'passed' && began > watched.revokedAt) watched.wasLetIn = true;
    const isLate = began > watched.revokedAt + STALENESS_MS;
    if (late === 'passed' && isLate) watched.wasLetInLate = true;
  }

  async function end(watched: Watched): Promise<void> {
    // Puts it in the cache before it is revoked, like a key in use.
    await answerOf(cached, watched.key);
    // If this fails, the key may be live or not; the stream does not use it any more.
    await manager.revoke(watched.keyId, authority);
    watched.revokedAt = performance.now();
    figures.revoked += 1;
    revoked.push(watched);
    const eldest = revoked.length > remembered ? revoked.shift() : undefined;
    if (eldest !== undefined) await countRevoked(eldest);
  }

  /** Says whether the call worked. A key that is gone counts as lost in the end. */
  async function isDone(act: () => Promise<void>, watched?: Watched): Promise<boolean> {
    try {
      await act();
      return true;
    } catch (error) {
      if (isAccessError(error) && watched !== undefined) denied.push(watched);
      else if (!isStoreError(error)) throw error;
      wentWrong = performance.now();
      return false;
    }
  }

  async function change(): Promise<void> {
    const isMade = await isDone(async () => void young.push(await make()));
    // If no key can be made, existing ones can still be revoked.
    const mayStay = isMade ? YOUNG_KEYS : 0;
    const eldest = young.length > mayStay ? young.shift() : undefined;
    if (eldest === undefined) return;
    const isEnded = await isDone(() => end(eldest), eldest);
    if (isMade && isEnded) changedWell = performance.now();
  }

  /** Says whether a key is good, as soon as the store answers. */
  async function isGood({ key }: Watched): Promise<boolean> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const answer = await answerOf(guard, key);
      if (answer === 'passed' || answer === 'denied') return answer === 'passed';
      if (performance.now() > deadline) throw new Error(`no answer within ${PATIENCE_MS} ms`);
      await sleep(100);
    }
  }

  async function countLive(watched: Watched): Promise<void> {
    const isThere = await isGood(watched);
    if (!isThere) figures.lostKeys += 1;
    if (isThere && watched.wasDenied) figures.deniedThoughKept += 1;
  }

  async function countRevoked(watched: Watched): Promise<void> {
    const isLive = await isGood(watched);
    if (isLive) figures.lostRevocations += 1;
    if (watched.wasLetIn) figures.letIn += 1;
    if (watched.wasLetIn && !isLive) figures.letInThoughKept += 1;
    if (watched.wasLetInLate) figures.letInLate += 1;
  }

  /** Looks up every answered write, and waits for the store if necessary. */
  async function countLosses(): Promise<void> {
    for (const watched of [...honest, ...young, ...denied]) await countLive(watched);
    for (const watched of revoked) await countRevoked(watched);
  }

  async function whole(since: number, limitMs: number): Promise<number | null> {
    const deadline = performance.now() + limitMs;
    for (;;) {
      const calmSince = Math.max(since, wentWrong);
      const isCalm = performance.now() - calmSince > CALM_MS;
      if (isCalm && changedWell > calmSince) return wentWrong > since ? wentWrong : null;
      if (performance.now() > deadline) throw new Error(`not whole again after ${limitMs} ms`);
      await sleep(20);
    }
  }

  /** Makes a key before the accident, patiently, because the machine may be busy. */
  async function makePatiently(): Promise<Watched> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        return await make();
      } catch (error) {
        if (!isStoreError(error) || performance.now() > deadline) throw error;
        await sleep(100);
      }
    }
  }

  for (let count = 0; count < HONEST_KEYS; count++) honest.push(await makePatiently());
  const isStillOn = () => isOn;
  const underWay = Promise.all([
    arrive(rates.honest, isStillOn, askHonestly),
    arrive(rates.revoked, isStillOn, askRevoked),
    arrive(rates.changes, isStillOn, change),
  ]);
  // `end` reports it; until then nothing handles it.
  underWay.catch(() => {});

  async function stop(): Promise<void> {
    isOn = false;
    await underWay;
  }

  return {
    figures,
    whole,
    stop,
    async end() {
      await stop();
      await countLosses();
      for (const ring of [manager, guard, cached]) await ring.flush().catch(() => {});
      return figures;
    },
  };
}
