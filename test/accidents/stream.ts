/**
 * A steady stream of requests, new keys and revocations, and what became of each. It arrives by the
 * clock, whether or not what came before is answered: who waits for an answer would slow down with
 * the store, and hide how many were refused.
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

/** Beyond this a keyring gives up, in milliseconds. */
const STORE_TIMEOUT_MS = 1_000;
/** Beyond this a request counts as never answered, in milliseconds. */
const ANSWER_LIMIT_MS = 3 * STORE_TIMEOUT_MS;
/** How long the look waits that finds out what was lost, in milliseconds. */
const PATIENCE_MS = 30_000;
/** How long a cached answer is used, in milliseconds. */
const STALENESS_MS = 1_000;
/**
 * For so long all has to go well before it is whole again, in milliseconds. Longer than a keyring
 * waits: what is not answered shows only then.
 */
const CALM_MS = 1_500;
/** Live keys that stay from beginning to end. */
const HONEST_KEYS = 50;
/** New keys that stay for a while before they are revoked. */
const YOUNG_KEYS = 5;
/** Half of the looks at revoked keys are at so many of the newest, which may be lost. */
const NEWEST = 20;
/** So many revoked keys are remembered: what remembers all would grow, and seem to leak. */
const REMEMBERED = 2_000;
/** So many answers are cached: few, so that a cache is soon as full as it gets. */
const CACHED = 200;

export const catalog = defineScopes({ threats: { read: 'List and read threats.' } });
const policy = definePolicy(catalog, { list: ['threats:read'] });
export const peppers = [{ id: 'p1', secret: 'a pepper of this test alone, with 32 bytes' }];
export const authority = {
  entityUuid: '0a0a0a0a-0000-4000-8000-00000000000a',
  scopes: 'all',
} as const;
const input = { name: 'n', scopes: ['threats:read'], expiresAt: 'never' } as const;

/** How often in a second. */
export interface Rates {
  /** Requests with a key that is good. */
  readonly honest: number;
  /** Requests with a key that was revoked. */
  readonly revoked: number;
  /** New keys, and as many revocations. */
  readonly changes: number;
}

/** The way of two processes to one database. */
export interface Ways {
  /** Of the one that makes and revokes keys. */
  readonly managing: KeyStore;
  /** Of the one that answers requests. */
  readonly guarding: KeyStore;
}

/** What became of it all. */
export interface Figures {
  /** Honest requests. */
  asked: number;
  /** Those that were let in. */
  answered: number;
  /** Those that were refused with 503. */
  refused: number;
  /** Those that were refused as if their key was not good. Who is gets a new key. */
  denied: number;
  /** Keys of which that was said although they were not lost. */
  deniedThoughKept: number;
  /** The longest that an answer took, from when the request was due, in milliseconds. */
  slowestMs: number;
  /** Those that got no answer for three times as long as the keyring waits. */
  unanswered: number;
  /** Keys that were let in although `revoke` had answered before. */
  letIn: number;
  /** Those of them whose revocation was not lost. */
  letInThoughKept: number;
  /** Those that were let in from a cache, and later than it promises. */
  letInLate: number;
  /** Keys whose `issue` had answered, and that are not there any more. */
  lostKeys: number;
  /** Revocations that had answered, and that are not there any more. */
  lostRevocations: number;
  /** How many keys were issued, and how many revoked. */
  issued: number;
  revoked: number;
}

/** A key that was issued, and when its revocation was answered. */
interface Watched {
  readonly key: string;
  readonly keyId: string;
  revokedAt: number;
  wasDenied: boolean;
  wasLetIn: boolean;
  wasLetInLate: boolean;
}

export interface Stream {
  /** What is known so far: what was lost only shows at the end. */
  readonly figures: Readonly<Figures>;
  /**
   * Waits until all has gone well for a while, a new key and a revocation included. Says when the
   * last thing went wrong, as `performance.now()` does; `null` when nothing has since `since`.
   */
  whole(since: number, limitMs: number): Promise<number | null>;
  /** Ends it, and waits for what is under way. */
  stop(): Promise<void>;
  /** Ends it, waits for what is under way, and looks up all keys that were ever issued. */
  end(): Promise<Figures>;
}

type Ring = ReturnType<typeof ringOf>;

function ringOf(store: KeyStore) {
  const usage = { intervalMs: 1_000, granularityMs: 1_000 };
  return createKeyring({
    prefix: 'acme',
    catalog,
    peppers,
    store,
    storeTimeoutMs: STORE_TIMEOUT_MS,
    usage,
    // What cannot be written while the database is away is told, and is nobody's surprise here.
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
      // As an adapter does, so that usage is noted too.
      await ring.admit(`Bearer ${key}`, { policy, operation: 'list' });
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

/** Calls `act` so often in a second until it is told to end, and waits for what it called. */
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

/** Begins once so many keys are issued that requests can be sent. */
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
  /** Good keys of which a request was told that they are not. */
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

  /** Who is told that a key is not good asks for another one. */
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
    // It is in the cache when it is revoked, as a key that is in use.
    await answerOf(cached, watched.key);
    // Where this fails, the key may be live or not, and nobody asks any more.
    await manager.revoke(watched.keyId, authority);
    watched.revokedAt = performance.now();
    figures.revoked += 1;
    revoked.push(watched);
    const eldest = revoked.length > remembered ? revoked.shift() : undefined;
    if (eldest !== undefined) await countRevoked(eldest);
  }

  /** Says whether it went well. What is not there any more counts as lost in the end. */
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
    // Where no key can be made, those that are there can still be ended.
    const mayStay = isMade ? YOUNG_KEYS : 0;
    const eldest = young.length > mayStay ? young.shift() : undefined;
    if (eldest === undefined) return;
    const isEnded = await isDone(() => end(eldest), eldest);
    if (isMade && isEnded) changedWell = performance.now();
  }

  /** Whether a key is good, as soon as anybody can say. */
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

  /** A patient look at all that was ever answered. */
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

  /** Nothing has happened yet, but the machine may be busy. */
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
  // Told by `end`; until then it is nobody's.
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
