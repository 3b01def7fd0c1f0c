/** How often somebody may try to sign in. */
import { isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';

const WINDOW_MS = 15 * 60_000;
/** Wrong tries for one email from one address. */
const MOST_FOR_EMAIL = 10;
/** Tries for any email from one address. */
const MOST_FROM_ADDRESS = 100;
/** How many emails, and how many addresses, are counted at once. */
const CAPACITY = 10_000;
/** The longest that an email address can be (RFC 5321 §4.5.3.1). */
const EMAIL_LENGTH = 254;

export interface Throttle {
  /**
   * Counts a try.
   *
   * @returns The number of seconds until the next one; 0 if this one is allowed.
   */
  countTry(address: string, email: string): number;
  /** A correct try clears the wrong ones for this email, but none for others. */
  forgive(address: string, email: string): void;
}

interface Counter {
  count(name: string): number;
  forget(name: string): void;
}

function createCounter(most: number, now: () => number): Counter {
  const tries = new LRUCache<string, number>({
    max: CAPACITY,
    ttl: WINDOW_MS,
    ttlResolution: 0,
    noUpdateTTL: true,
    perf: { now },
  });
  return {
    count(name) {
      const found = (tries.get(name) ?? 0) + 1;
      tries.set(name, found);
      if (found <= most) return 0;
      return Math.max(1, Math.ceil(tries.getRemainingTTL(name) / 1000));
    },
    forget(name) {
      tries.delete(name);
    },
  };
}

/**
 * Limits wrong tries in a quarter of an hour: for one email from one address, and for any email
 * from one address. There is no limit for one email from anywhere, with which strangers could lock
 * a member out. The counters are bounded too: the address is counted first, so that one over its
 * limit adds no more emails, and apart, so that emails evict no address.
 */
export function createThrottle(now: () => number): Throttle {
  const emails = createCounter(MOST_FOR_EMAIL, now);
  const addresses = createCounter(MOST_FROM_ADDRESS, now);
  const pairOf = (address: string, email: string): string =>
    `${address} ${email.slice(0, EMAIL_LENGTH)}`;
  return {
    countTry(address, email) {
      const seconds = addresses.count(address);
      if (seconds > 0) return seconds;
      return emails.count(pairOf(address, email));
    },
    forgive(address, email) {
      emails.forget(pairOf(address, email));
    },
  };
}

/**
 * What counts as one visitor. Whoever has one IPv6 address has 2^64, so a network of that size is
 * one; an IPv4 address in the form of IPv6 is one by itself.
 */
export function visitorAt(address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address;
  const halves = address.split('::').map((half) => half.split(':'));
  const head = halves[0] ?? [];
  const tail = halves[1] ?? [];
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return [...head, ...zeros, ...tail].slice(0, 4).join(':');
}
