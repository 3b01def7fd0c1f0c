/** How often somebody may try to sign in to the console, and who counts as somebody. */
import type { Context } from 'hono';
import { describe, expect, it } from 'vitest';
import { createConsole } from '../../examples/console/app.ts';
import { createThrottle } from '../../examples/console/throttle.ts';
import type { ConsoleService } from '../../examples/console/visit.ts';
import type { Accounts } from '../../examples/platform/host/accounts.ts';
import { ENTITY } from '../../examples/platform/host/boot.ts';
import { connectionFrom, formBody, useSite } from './console-site.ts';

const site = useSite();
const WINDOW_MS = 900_000;

/** A console with accounts of its own, and what it answers to a try from an address. */
function consoleWith(accounts: Partial<Accounts>, options: Partial<ConsoleService> = {}) {
  const { platform, origin } = site;
  const known = { ...platform.accounts, ...accounts };
  const app = createConsole({ ...platform, ...options, accounts: known });
  return async (address: string, email: string, headers: Record<string, string> = {}) => {
    const init = {
      method: 'POST',
      body: formBody({ email, password: 'x' }),
      headers: { Origin: origin, ...headers },
    };
    return app.request(`${origin}/console/sign-in`, init, connectionFrom(address));
  };
}

const NOBODY: Partial<Accounts> = { signIn: async () => null };

/** Accepts whatever is sent for one email, and nothing for others. */
const OWN: Partial<Accounts> = {
  find: () => ({
    user: { id: 'x', created_at: '', email: 'own', name: 'x', role: 'viewer' },
    entityUuid: ENTITY,
    authority: null,
  }),
  async signIn(email) {
    if (email !== 'own') return null;
    return { entityUuid: ENTITY, userId: 'of the guesser', version: '' };
  },
};

describe('trying again and again', () => {
  // Whoever had an account of their own could guess another's for ever: each right password took
  // all tries back.
  it('makes whoever guesses wait, whatever they sign in to between, and nobody else', async () => {
    const request = consoleWith(OWN);
    /** The status, or how many seconds are to be waited. */
    const enterAt = async (address: string, email: string): Promise<number> => {
      const answer = await request(address, email);
      return answer.status === 429 ? Number(answer.headers.get('Retry-After')) : answer.status;
    };
    for (let i = 0; i < 10; i++) {
      expect(await enterAt('a', 'victim')).toBe(401);
      expect(await enterAt('a', 'own')).toBe(303);
    }
    expect(await enterAt('a', 'victim')).toBe(900);
    expect(await enterAt('b', 'victim')).toBe(401);
    expect(await enterAt('a', 'another')).toBe(401);
    site.clock.ahead = WINDOW_MS - 1;
    expect(await enterAt('a', 'victim')).toBe(1);
    site.clock.ahead = WINDOW_MS + 1;
    expect(await enterAt('a', 'victim')).toBe(401);
    for (let i = 0; i < 99; i++) expect(await enterAt('a', `email ${i}`)).toBe(401);
    expect(await enterAt('a', 'one more')).toBe(900);
  });

  // With another of the 2^64 addresses that a visitor has for each try, the tries were as many as
  // they liked.
  it('counts an IPv6 network as one visitor, and an IPv4 address by itself', async () => {
    const request = consoleWith(NOBODY);
    const enterAt = async (address: string) => (await request(address, 'e')).status;
    const home = [
      '2001:db8::1',
      '2001:db8::2',
      '2001:db8:0:0:3:4:5:6',
      '2001:db8::ffff:0:1',
      '2001:db8::1:2:3:4',
    ];
    for (const address of [...home, ...home]) expect(await enterAt(address)).toBe(401);
    for (const address of [...home, '2001:db8::7:8'])
      expect(await enterAt(address), address).toBe(429);
    const others = [
      '2001:db8:0:1::1',
      '2001:db8:1::1',
      '2001::db8:0:0:1',
      '::1',
      'fe80::1%eth0',
      '::',
    ];
    for (const address of others) expect(await enterAt(address), address).toBe(401);
    for (let i = 0; i < 12; i++) expect(await enterAt(`::ffff:192.0.2.${i}`)).toBe(401);
  });

  it('asks who a visitor is where the service says so', async () => {
    const clientAddress = (c: Context): string => c.req.header('x-client') ?? '';
    const request = consoleWith(NOBODY, { clientAddress });
    const enterAs = async (client: string) =>
      (await request('the proxy', 'e', { 'X-Client': client })).status;
    for (let i = 0; i < 10; i++) expect(await enterAs('a')).toBe(401);
    expect(await enterAs('a')).toBe(429);
    expect(await enterAs('b')).toBe(401);
  });
});

describe('the counters of the throttle', () => {
  interface Tries {
    allowed: number;
    refused: number;
  }

  /** How many tries of `count` are allowed. */
  function tries(
    throttle: ReturnType<typeof createThrottle>,
    count: number,
    addressOf: (index: number) => string,
    emailOf: (index: number) => string,
  ): Tries {
    const found = { allowed: 0, refused: 0 };
    for (let index = 0; index < count; index++) {
      const seconds = throttle.countTry(addressOf(index), emailOf(index));
      if (seconds === 0) found.allowed += 1;
      else found.refused += 1;
    }
    return found;
  }

  // What was refused was counted all the same, under made-up emails, which pushed out what others
  // had been counted for.
  it('forget nobody’s wrong tries for those of somebody else', () => {
    const throttle = createThrottle(() => 0);
    const emailOf = (index: number): string => `email ${index}`;
    const guess = (): Tries =>
      tries(
        throttle,
        12,
        () => 'guesser',
        () => 'victim',
      );
    const flood = (count: number): Tries => tries(throttle, count, () => 'flood', emailOf);
    expect(guess()).toEqual({ allowed: 10, refused: 2 });
    expect(flood(10_100)).toEqual({ allowed: 100, refused: 10_000 });
    expect(guess()).toEqual({ allowed: 0, refused: 12 });
    // From a hundred addresses they push out emails, and no address.
    const many = tries(throttle, 10_000, (index) => `address ${index % 100}`, emailOf);
    expect(many).toEqual({ allowed: 10_000, refused: 0 });
    expect(flood(1)).toEqual({ allowed: 0, refused: 1 });
  });
});
