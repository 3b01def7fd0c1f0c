/** The list of public keys: kept, renewed, bounded, and never guessed. */
import { causeOf, isStoreError } from 'keyscope';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createPublishedKeys, type PublishedKeys } from '../../src/leaks/published-keys.js';
import { eventually } from '../support/eventually.ts';
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

async function open(listed = [FIRST]) {
  listing = await openListing(listed);
  const clock = stoppedClock();
  const { fetch = globalThis.fetch } = listing.source;
  const errors: unknown[] = [];
  const report = (error: unknown): void => void errors.push(error);
  const keys = createPublishedKeys('https://keys.example/', fetch, clock.now, report);
  return { keys, clock, errors };
}

async function outcome(keys: PublishedKeys, identifier: string): Promise<string> {
  const key = await keys.find(identifier);
  if (key === undefined) return 'not known';
  return key === null ? 'none' : 'key';
}

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
    listing.answer(200, { public_keys: [SECOND] });
    clock.advance(DAY);
    expect(await outcome(keys, 'first')).toBe('none');
    expect(listing.asked()).toBe(2);
  });

  // Otherwise a stranger who makes identifiers up makes this service flood another one.
  it('is asked for by unknown identifiers once a minute, and no more', async () => {
    const { keys, clock, errors } = await open();
    expect(await outcome(keys, 'unknown')).toBe('none');
    // It may have been listed since: who is refused does not send the report again.
    for (let round = 0; round < 100; round += 1) {
      expect(await outcome(keys, `unknown ${round}`)).toBe('not known');
    }
    expect(listing.asked()).toBe(1);
    expect(errors).toEqual([]);
    clock.advance(MINUTE);
    expect(await outcome(keys, 'unknown')).toBe('none');
    expect(listing.asked()).toBe(2);
  });

  it('follows a rotation, and lets the key that left end what it has begun', async () => {
    const { keys, clock } = await open();
    await outcome(keys, 'first');
    listing.answer(200, { public_keys: [SECOND] });
    clock.advance(MINUTE);
    expect(await outcome(keys, 'second')).toBe('key');
    clock.advance(10 * MINUTE - 1);
    expect(await outcome(keys, 'first')).toBe('key');
    clock.advance(1);
    expect(await outcome(keys, 'first')).toBe('none');
    expect(await outcome(keys, 'second')).toBe('key');
  });

  // Ten minutes long, a key that was listed as no longer in use still signed reports.
  it.each<[string, object[]]>([
    ['as it is', [{ ...FIRST, is_current: false }]],
    ['without the key', [{ key_identifier: 'first', is_current: false }]],
    ['with a key that cannot be read', [{ ...FIRST, key: 'x', is_current: false }]],
    ['with an odd mark', [{ ...FIRST, is_current: 'true' }]],
    ['without a mark', [{ ...FIRST, is_current: undefined }]],
    ['with another key, which cannot be read', [{ ...FIRST, key: 'x' }]],
    ['before an entry that says otherwise', [{ ...FIRST, is_current: false }, FIRST]],
    ['after an entry that says otherwise', [FIRST, { ...FIRST, is_current: false }]],
  ])('ends a key at once that is listed as retired: %s', async (_, entries) => {
    const { keys, clock } = await open();
    expect(await outcome(keys, 'first')).toBe('key');
    listing.answer(200, { public_keys: [...entries, SECOND] });
    clock.advance(MINUTE);
    expect(await outcome(keys, 'second')).toBe('key');
    expect(await outcome(keys, 'first')).toBe('none');
    clock.advance(MINUTE);
    expect(await outcome(keys, 'first')).toBe('none');
    listing.answer(200, { public_keys: [FIRST] });
    clock.advance(MINUTE);
    expect(await outcome(keys, 'first')).toBe('key');
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
    const { keys, clock, errors } = await open();
    listing.answer(status, body, headers);
    const found = await Promise.all(Array.from({ length: 20 }, () => outcome(keys, 'first')));
    expect(new Set(found)).toEqual(new Set(['not known']));
    expect(await outcome(keys, 'first')).toBe('not known');
    expect(listing.asked()).toBe(1);
    expect(errors.map(isStoreError)).toEqual([true]);
    clock.advance(5_000);
    listing.answer(200, { public_keys: [FIRST] });
    expect(await outcome(keys, 'first')).toBe('key');
  });

  // Whoever answers there, nobody has agreed to trust them.
  it('is followed nowhere else', async () => {
    const { keys } = await open();
    const elsewhere = await openListing([FIRST]);
    listing.answer(302, '', { location: elsewhere.url });
    expect(await outcome(keys, 'first')).toBe('not known');
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
      createPublishedKeys(
        'https://keys.example/',
        never,
        () => 0,
        () => {},
      ),
      'first',
    );
    await vi.advanceTimersByTimeAsync(4_999);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await found).toBe('not known');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it('goes on to serve the keys that it has while it is away', async () => {
    const { keys, clock, errors } = await open();
    await outcome(keys, 'first');
    listing.answer(500, '');
    clock.advance(DAY / 2);
    expect(await outcome(keys, 'unknown')).toBe('not known');
    expect(await outcome(keys, 'first')).toBe('key');
    clock.advance(DAY / 2);
    expect(await outcome(keys, 'first')).toBe('not known');
    expect(errors.map(isStoreError)).toEqual([true, true]);
  });

  // A list that hung delayed the first report of the day; and a key that was retired meanwhile
  // signed reports for as long.
  it('is asked for again after an hour, while reports go on, and a failure is told', async () => {
    const { keys, clock, errors } = await open();
    await outcome(keys, 'first');
    listing.answer(null, '');
    clock.advance(60 * MINUTE - 1);
    expect(await outcome(keys, 'first')).toBe('key');
    expect(listing.asked()).toBe(1);
    clock.advance(1);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    for (let round = 0; round < 20; round += 1) expect(await outcome(keys, 'first')).toBe('key');
    await vi.advanceTimersByTimeAsync(5_000);
    expect(errors.map(isStoreError)).toEqual([true]);
    vi.useRealTimers();
    listing.answer(200, { public_keys: [{ ...FIRST, is_current: false }] });
    clock.advance(5_000);
    expect(await outcome(keys, 'first')).toBe('key');
    await eventually(async () => (await outcome(keys, 'first')) === 'none', 'first is retired');
    expect(listing.asked()).toBe(3);
  });

  it('leaves out entries that cannot be read, and keeps the others', async () => {
    const odd = [null, 'x', {}, { ...SECOND, key: 'x' }, { ...SECOND, key_identifier: 4 }];
    const { keys } = await open([...(odd as (typeof FIRST)[]), FIRST]);
    expect(await outcome(keys, 'first')).toBe('key');
    expect(await outcome(keys, 'second')).toBe('none');
  });

  it('tells why, to whoever asks for the cause', async () => {
    const { keys, errors } = await open();
    listing.answer(500, '');
    await keys.find('first');
    expect(String(causeOf(errors[0]))).toContain('status 500');
  });
});
