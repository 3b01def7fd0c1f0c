/**
 * How often somebody may try to sign in. Guesses at one member from one address are stopped;
 * guesses at many members from one address, or at one member from many addresses, are slowed down,
 * because to stop those would let a stranger lock others out. The service's README says what is
 * left to an attacker.
 */
import { isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';

const MINUTE_MS = 60_000;
const WINDOW_MS = 15 * MINUTE_MS;
/** Wrong tries for one email from one address: after them, none is made. */
const MOST_FOR_PAIR = 10;
/** Wrong tries from one address, or for one email: after them, one is made each second. */
const MOST_UNSLOWED = 100;
const PAUSE_MS = 1_000;
/** For how long it is known who has signed in from where. */
const KNOWN_MS = 30 * 24 * 60 * MINUTE_MS;
/** How many emails, addresses, and pairs of them are counted at once. */
const CAPACITY = 10_000;
/** The longest that an email address can be (RFC 5321 §4.5.3.1). */
const EMAIL_LENGTH = 254;

export interface Throttle {
  /** Whether this member has signed in from there before. */
  isKnown(address: string, email: string): boolean;
  /** The number of seconds until the next try may be made; 0 for now. */
  secondsUntil(address: string, email: string): number;
  /**
   * Counts a try that is about to be made, unless it has to wait: then it is none.
   *
   * @returns As `secondsUntil`.
   */
  countTry(address: string, email: string): number;
  /** The try was right: clears the wrong ones for this email from here, and none for others. */
  forgive(address: string, email: string): void;
}

/** The tries of somebody, for as long as they are counted. */
interface Tries {
  count: number;
  lastAt: number;
}

interface Counter {
  /** How long whoever has tried too often has to wait, in milliseconds. */
  waitOf(name: string): number;
  count(name: string): void;
  takeBack(name: string): void;
  forget(name: string): void;
}

/** @param pauseMs From one try to the next, after too many; null to make none in the window. */
function createCounter(most: number, pauseMs: number | null, now: () => number): Counter {
  const all = new LRUCache<string, Tries>({
    max: CAPACITY,
    ttl: WINDOW_MS,
    ttlResolution: 0,
    perf: { now },
  });
  return {
    waitOf(name) {
      const tries = all.get(name);
      if (tries === undefined || tries.count < most) return 0;
      if (pauseMs === null) return Math.max(1, all.getRemainingTTL(name));
      return Math.max(0, tries.lastAt + pauseMs - now());
    },
    count(name) {
      const tries = all.get(name) ?? { count: 0, lastAt: 0 };
      tries.count += 1;
      tries.lastAt = now();
      if (tries.count === 1) all.set(name, tries);
    },
    takeBack(name) {
      const tries = all.get(name);
      if (tries !== undefined && tries.count > 0) tries.count -= 1;
    },
    forget(name) {
      all.delete(name);
    },
  };
}

/**
 * Counts wrong tries of a quarter of an hour. Whoever has signed in from an address before is not
 * slowed down there by what others do. The counters are bounded, and what has to wait is not
 * counted, so nobody over a limit pushes out what others are counted for.
 */
export function createThrottle(now: () => number): Throttle {
  const pairs = createCounter(MOST_FOR_PAIR, null, now);
  const addresses = createCounter(MOST_UNSLOWED, PAUSE_MS, now);
  const emails = createCounter(MOST_UNSLOWED, PAUSE_MS, now);
  const known = new LRUCache<string, true>({
    max: CAPACITY,
    ttl: KNOWN_MS,
    ttlResolution: 0,
    perf: { now },
  });
  const cut = (email: string): string => email.slice(0, EMAIL_LENGTH);
  const pairOf = (address: string, email: string): string => `${address} ${cut(email)}`;

  function waitFor(address: string, email: string): number {
    const pair = pairOf(address, email);
    const stopped = pairs.waitOf(pair);
    if (stopped > 0 || known.has(pair)) return stopped;
    return Math.max(addresses.waitOf(address), emails.waitOf(cut(email)));
  }

  function secondsUntil(address: string, email: string): number {
    return Math.ceil(waitFor(address, email) / 1000);
  }

  return {
    isKnown: (address, email) => known.has(pairOf(address, email)),
    secondsUntil,
    countTry(address, email) {
      const seconds = secondsUntil(address, email);
      if (seconds > 0) return seconds;
      pairs.count(pairOf(address, email));
      addresses.count(address);
      emails.count(cut(email));
      return 0;
    },
    forgive(address, email) {
      const pair = pairOf(address, email);
      pairs.forget(pair);
      addresses.takeBack(address);
      emails.takeBack(cut(email));
      known.set(pair, true);
    },
  };
}

/**
 * What counts as one visitor. Whoever has one IPv6 address has 2^64, so a network of that size is
 * one.
 *
 * @param address As a `ClientAddress` spells it.
 */
export function visitorAt(address: string): string {
  if (!isIPv6(address)) return address;
  const halves = address.split('::').map((half) => half.split(':'));
  const head = halves[0] ?? [];
  const tail = halves[1] ?? [];
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return [...head, ...zeros, ...tail].slice(0, 4).join(':');
}
