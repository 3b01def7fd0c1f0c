/** The list of public keys: kept, renewed, bounded, and never guessed. */
import { causeOf, isStoreError } from 'keyscope';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createPublishedKeys, type PublishedKeys } from '../../src/leaks/published-keys.js';
import { stoppedClock } from '../support/keyring.ts';
import { createSigner, type Listing, openListing } from '../support/leak-reports.ts';

const FIRST = createSigner('first').listed;
const SECOND = createSigner('second').listed;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let listing: Listing;
afterEach(() => {
  listing?.close();
  vi.useRealTimers();
});

async function open(keys = [FIRST]) {
  listing = await openListing(keys);
  const clock = stoppedClock();
  const { fetch = globalThis.fetch } = listing.source;
  return { keys: createPublishedKeys('https://keys.example/', fetch, clock.now), clock };
}

const outcome = (keys: PublishedKeys, identifier: string): Promise<string> =>
  keys.find(identifier).then(
    (key) => (key === null ? 'none' : 'key'),
    (error: unknown) => (isStoreError(error) ? 'out of reach' : 'a bug'),
  );

describe('the list of public keys', () => {
  it('is asked for once, however many reports come at once and afterwards', async () => {
    const { keys } = await open();
    expect(listing.asked()).toBe(0);
    const found = await Promise.all(Array.from({ length: 20 }, () => outcome(keys, 'first')));
    expect(new Set(found)).toEqual(new Set(['key']));
    expect(await outcome(keys, 'first')).toBe('key');
    expect(listing.asked()).toBe(1);
  });

  it('is asked for again after a day', async () => {
    const { keys, clock } = await open();
    await outcome(keys, 'first');
    clock.advance(DAY - 1);
    expect(await outcome(keys, 'first')).toBe('key');
    expect(listing.asked()).toBe(1);
    clock.advance(1);
    expect(await outcome(keys, 'first')).toBe('key');
    expect(listing.asked()).toBe(2);
  });

  // Otherwise a stranger who makes identifiers up makes this service flood another one.
  it('is asked for by unknown identifiers once a minute, and no more', async () => {
    const { keys, clock } = await open();
    for (let round = 0; round < 100; round += 1) {
      expect(await outcome(keys, `unknown ${round}`)).toBe('none');
    }
    expect(listing.asked()).toBe(1);
    clock.advance(MINUTE);
    expect(await outcome(keys, 'unknown')).toBe('none');
    expect(listing.asked()).toBe(2);
  });

  it('follows a rotation, and lets the old key end what it has begun', async () => {
    const { keys, clock } = await open();
    await outcome(keys, 'first');
    listing.answer(200, { public_keys: [{ ...FIRST, is_current: false }, SECOND] });
    clock.advance(MINUTE);
    expect(await outcome(keys, 'second')).toBe('key');
    clock.advance(10 * MINUTE - 1);
    expect(await outcome(keys, 'first')).toBe('key');
    clock.advance(1);
    expect(await outcome(keys, 'first')).toBe('none');
    expect(await outcome(keys, 'second')).toBe('key');
  });

  it('prolongs no key by listing it as retired again and again', async () => {
    const { keys, clock } = await open();
    await outcome(keys, 'first');
    listing.answer(200, { public_keys: [SECOND] });
    clock.advance(MINUTE);
    for (let minute = 0; minute < 12; minute += 1) {
      await outcome(keys, `unknown ${minute}`);
      clock.advance(MINUTE);
    }
    expect(await outcome(keys, 'first')).toBe('none');
  });

  it('has no key that was retired when it was first read', async () => {
    const { keys } = await open([{ ...FIRST, is_current: false }]);
    expect(await outcome(keys, 'first')).toBe('none');
  });

  it.each<[string, number, unknown, Record<string, string>?]>([
    ['an error', 500, ''],
    ['a rate limit', 403, { message: 'API rate limit exceeded' }],
    ['no JSON', 200, '<html>'],
    ['another shape', 200, { keys: [] }],
    ['null', 200, 'null'],
    ['no list', 200, { public_keys: { first: FIRST.key } }],
    ['more than 64 KiB', 200, { public_keys: [FIRST], more: 'x'.repeat(65_536) }],
  ])('that is %s is out of reach, and asked for again soon', async (_, status, body, headers) => {
    const { keys, clock } = await open();
    listing.answer(status, body, headers);
    expect(await outcome(keys, 'first')).toBe('out of reach');
    expect(await outcome(keys, 'first')).toBe('out of reach');
    expect(listing.asked()).toBe(1);
    clock.advance(5_000);
    listing.answer(200, { public_keys: [FIRST] });
    expect(await outcome(keys, 'first')).toBe('key');
  });

  // Whoever answers there, nobody has agreed to trust them.
  it('is followed nowhere else', async () => {
    const { keys } = await open();
    const elsewhere = await openListing([FIRST]);
    listing.answer(302, '', { location: elsewhere.url });
    expect(await outcome(keys, 'first')).toBe('out of reach');
    expect(elsewhere.asked()).toBe(0);
    elsewhere.close();
  });

  it('that does not answer is given up, and the call with it', async () => {
    const signals: AbortSignal[] = [];
    const never = (_url: string, { signal }: RequestInit): Promise<Response> => {
      if (signal) signals.push(signal);
      return new Promise(() => {});
    };
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const found = outcome(
      createPublishedKeys('https://keys.example/', never, () => 0),
      'first',
    );
    await vi.advanceTimersByTimeAsync(4_999);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await found).toBe('out of reach');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it('goes on to serve the keys that it has while it is away', async () => {
    const { keys, clock } = await open();
    await outcome(keys, 'first');
    listing.answer(500, '');
    clock.advance(DAY / 2);
    expect(await outcome(keys, 'unknown')).toBe('out of reach');
    expect(await outcome(keys, 'first')).toBe('key');
    clock.advance(DAY / 2);
    expect(await outcome(keys, 'first')).toBe('out of reach');
  });

  it('leaves out entries that cannot be read, and keeps the others', async () => {
    const odd = [null, 'x', {}, { ...SECOND, key: 'x' }, { ...SECOND, key_identifier: 4 }];
    const { keys } = await open([...(odd as (typeof FIRST)[]), FIRST]);
    expect(await outcome(keys, 'first')).toBe('key');
    expect(await outcome(keys, 'second')).toBe('none');
  });

  it('tells why, to whoever asks for the cause', async () => {
    const { keys } = await open();
    listing.answer(500, '');
    const error: unknown = await keys.find('first').catch((each: unknown) => each);
    expect(String(causeOf(error))).toContain('status 500');
  });
});
