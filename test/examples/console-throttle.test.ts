/** How often somebody may try to sign in to the console, and who counts as somebody. */
import { describe, expect, it } from 'vitest';
import { createConsole } from '../../examples/console/app.ts';
import { serviceOf } from '../../examples/console/server.ts';
import type { ConsoleAccounts, ConsoleService } from '../../examples/console/service.ts';
import { createThrottle } from '../../examples/console/throttle.ts';
import { ENTITY } from '../../examples/platform/host/boot.ts';
import { readClientAddress } from '../../examples/platform/host/client-address.ts';
import { HASHING } from '../../examples/platform/host/passwords.ts';
import { Busy } from '../../examples/platform/host/turns.ts';
import { connectionFrom, formBody, PASSWORD, useSite } from './console-site.ts';

const site = useSite();
const WINDOW_MS = 900_000;

/** A console with accounts of its own, and what it answers to a try from an address. */
function consoleWith(accounts: Partial<ConsoleAccounts>, options: Partial<ConsoleService> = {}) {
  const { platform, origin } = site;
  const known = { ...platform.accounts, ...accounts };
  const app = createConsole({ ...serviceOf(platform), ...options, accounts: known });
  return async (
    address: string,
    email: string,
    headers: Record<string, string> = {},
    headersDistinct: Record<string, readonly string[]> = {},
  ) => {
    const init = {
      method: 'POST',
      body: formBody({ email, password: 'x' }),
      headers: { Origin: origin, ...headers },
    };
    const connection = connectionFrom(address, headersDistinct);
    return app.request(`${origin}/console/sign-in`, init, connection);
  };
}

const NOBODY: Partial<ConsoleAccounts> = {
  async signIn(_email, _password, attempt) {
    attempt?.begin?.();
    return null;
  },
};

/** Accepts whatever is sent for one email, and nothing for others. */
const OWN: Partial<ConsoleAccounts> = {
  find: () => ({ user: { email: 'own', role: 'viewer' }, entityUuid: ENTITY, authority: null }),
  async signIn(email, _password, attempt) {
    attempt?.begin?.();
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
  });

  // One visitor who guessed locked a whole office out, right passwords and all, for a quarter of an
  // hour; so did an office in which a hundred people signed in.
  it('slows an address down after many wrong tries, and lets a right one pass', async () => {
    const request = consoleWith(OWN);
    const enterAt = async (address: string, email: string) => {
      const answer = await request(address, email);
      return [answer.status, answer.headers.get('Retry-After')];
    };
    for (let i = 0; i < 200; i++) expect(await enterAt('office', 'own')).toEqual([303, null]);
    expect(await enterAt('office', 'somebody new')).toEqual([401, null]);
    for (let i = 0; i < 100; i++)
      expect(await enterAt('guesser', `email ${i}`)).toEqual([401, null]);
    expect(await enterAt('guesser', 'one more')).toEqual([429, '1']);
    expect(await enterAt('guesser', 'own')).toEqual([429, '1']);
    site.clock.ahead = 1_000;
    expect(await enterAt('guesser', 'own')).toEqual([303, null]);
    // Whoever has signed in from there before does not wait for their turn.
    expect(await enterAt('guesser', 'own')).toEqual([303, null]);
    site.clock.ahead = 2_000;
    expect(await enterAt('guesser', 'one more')).toEqual([401, null]);
    expect(await enterAt('guesser', 'one more')).toEqual([429, '1']);
    expect(await enterAt('guesser', 'own')).toEqual([303, null]);
  });

  it('says for how long, in words', async () => {
    const request = consoleWith(NOBODY);
    for (let i = 0; i < 10; i++) await request('a', 'e');
    const words = async (email: string) =>
      /(Try again [^.]+)\./.exec(await (await request('a', email)).text())?.[1];
    expect(await words('e')).toBe('Try again in 15 minutes');
    site.clock.ahead = WINDOW_MS - 30_000;
    expect(await words('e')).toBe('Try again in 30 seconds');
    for (let i = 0; i < 90; i++) await request('a', `email ${i}`);
    expect(await words('other')).toBe('Try again in a second');
  });

  // What was refused, because too many signed in at once, counted as a wrong password.
  it('counts no try that was not made', async () => {
    let isBusy = true;
    const signIn: ConsoleAccounts['signIn'] = async (_email, _password, attempt) => {
      if (isBusy) throw new Busy();
      attempt?.begin?.();
      return null;
    };
    const request = consoleWith({ signIn });
    for (let i = 0; i < 20; i++) {
      const answer = await request('a', 'e');
      expect([answer.status, answer.headers.get('Retry-After')]).toEqual([503, '1']);
      expect(await answer.text()).toContain('Many people sign in now.');
    }
    isBusy = false;
    for (let i = 0; i < 10; i++) expect((await request('a', 'e')).status).toBe(401);
    for (let i = 0; i < 5; i++) expect((await request('a', 'e')).status).toBe(429);
  });

  it('allows many at once no more than one after another', async () => {
    // All of them are there before the first one has its turn.
    const signIn: ConsoleAccounts['signIn'] = async (_email, _password, attempt) => {
      await new Promise<void>((done) => void setImmediate(done));
      attempt?.begin?.();
      return null;
    };
    const request = consoleWith({ signIn });
    const answers = await Promise.all(Array.from({ length: 30 }, () => request('a', 'e')));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(10);
  });

  it('hashes few passwords at a time, lets few wait, and counts no others', async () => {
    const { accounts } = site.platform;
    let begun = 0;
    const begin = () => {
      begun += 1;
    };
    const tries = Array.from({ length: 40 }, () =>
      accounts.signIn('e', 'x', { begin }).catch(String),
    );
    const { atOnce, waiting } = HASHING;
    // No hash ends before the event loop has had its turn.
    for (let step = 0; step < 20; step++) await null;
    expect(begun).toBe(atOnce);
    const answers = await Promise.all(tries);
    const busy = 'Error: Too much of this is under way.';
    expect(answers.filter((answer) => answer === null)).toHaveLength(atOnce + waiting);
    expect(answers.filter((answer) => answer === busy)).toHaveLength(40 - atOnce - waiting);
    expect(begun).toBe(atOnce + waiting);
  });

  it('serves whoever has signed in from there before, in the middle of a flood', async () => {
    const firsts: unknown[] = [];
    const signIn: ConsoleAccounts['signIn'] = async (_email, _password, attempt) => {
      firsts.push(attempt?.isFirst);
      return OWN.signIn?.(_email, _password, attempt) ?? null;
    };
    const request = consoleWith({ ...OWN, signIn });
    for (const [address, email] of [
      ['home', 'own'],
      ['home', 'own'],
      ['home', 'other'],
      ['elsewhere', 'own'],
    ] as const)
      await request(address, email);
    expect(firsts).toEqual([false, true, false, false]);

    const { accounts } = site.platform;
    const flood = Array.from({ length: 20 }, () => accounts.signIn('e', 'x').catch(() => 'busy'));
    expect(await accounts.signIn('ana@example.com', PASSWORD, { isFirst: true })).not.toBeNull();
    await Promise.all(flood);
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
    const clientAddress = readClientAddress('x-forwarded-for:1');
    const report = (error: unknown) => reported.push(String(error));
    const reported: string[] = [];
    const request = consoleWith(NOBODY, { clientAddress, report });
    const enterAs = async (...forwarded: readonly string[]) =>
      (await request('127.0.0.1', 'e', {}, { 'x-forwarded-for': forwarded })).status;
    // What the client says it is stands left, and changes nothing.
    for (let i = 0; i < 10; i++) expect(await enterAs(`198.51.100.${i}, 192.0.2.1`)).toBe(401);
    expect(await enterAs('203.0.113.7', '192.0.2.1')).toBe(429);
    expect(await enterAs('192.0.2.1, 192.0.2.2')).toBe(401);
    // Nobody can be told apart who does not come through the proxy.
    expect(await enterAs()).toBe(500);
    expect(reported).toHaveLength(1);
    expect(reported[0]).toContain('x-forwarded-for, entry 1 from the right');
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

  /** How many of a hundred tries a second, for a quarter of an hour, are made. */
  function madeOf(addressOf: (index: number) => string, emailOf: (index: number) => string) {
    let time = 0;
    const throttle = createThrottle(() => time);
    let made = 0;
    for (let index = 0; index < 90_000; index++) {
      time = index * 10;
      if (throttle.countTry(addressOf(index), emailOf(index)) === 0) made += 1;
    }
    return made;
  }
  const ONE = () => 'one';
  const MANY = (index: number) => `number ${index % 5_000}`;

  // The figures stand in the service's README.
  it('leave an attacker ten guesses at one member, and a thousand at many or from many', () => {
    expect(madeOf(ONE, ONE)).toBe(10);
    expect(madeOf(ONE, MANY)).toBe(998);
    expect(madeOf(MANY, ONE)).toBe(998);
  });
});
