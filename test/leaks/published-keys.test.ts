/** How the list of public keys is fetched, kept and renewed. */
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
  const keys = createPublishedKeys(fetch, clock.now, report);
  return { keys, clock, errors };
}

async function outcome(keys: PublishedKeys, identifier: string): Promise<string> {
  const key = await keys.find(identifier);
  if (key === undefined) return 'not known';
  return key === null ? 'none' : 'key';
}

describe('createPublishedKeys', () => {
  it('fetches the list once for any number of concurrent and later reports', async () => {
    const { keys } = await open();
    expect(listing.asked()).toBe(0);
    const found = await Promise.all(Array.from({ length: 20 }, () => outcome(keys, 'first')));
    expect(new Set(found)).toEqual(new Set(['key']));
    expect(await outcome(keys, 'first')).toBe('key');
    expect(listing.asked()).toBe(1);
  });

  it('fetches the list again after a day', async () => {
    const { keys, clock } = await open();
    await outcome(keys, 'first');
    listing.answer(200, { public_keys: [SECOND] });
    clock.advance(DAY);
    expect(await outcome(keys, 'first')).toBe('none');
    expect(listing.asked()).toBe(2);
  });

  // Otherwise a stranger with made-up identifiers could make this service flood another one.
  it('fetches the list at most once a minute for unknown identifiers', async () => {
    const { keys, clock, errors } = await open();
    expect(await outcome(keys, 'unknown')).toBe('none');
    // The key may have been listed since, and GitHub does not retry a rejected report.
    for (let round = 0; round < 100; round += 1) {
      expect(await outcome(keys, `unknown ${round}`)).toBe('not known');
    }
    expect(listing.asked()).toBe(1);
    expect(errors).toEqual([]);
    clock.advance(MINUTE);
    expect(await outcome(keys, 'unknown')).toBe('none');
    expect(listing.asked()).toBe(2);
  });

  it('follows a rotation, and accepts the old key for ten more minutes', async () => {
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

  // Regression: it refused reports that were signed by a listed key during a rotation.
  it.each<[string, object]>([
    ['as not current', { ...FIRST, is_current: false }],
    ['without is_current', { ...FIRST, is_current: undefined }],
  ])('accepts a key listed %s, for as long as it is listed', async (_, entry) => {
    const { keys, clock } = await open();
    listing.answer(200, { public_keys: [entry, SECOND] });
    expect(await outcome(keys, 'first')).toBe('key');
    clock.advance(DAY);
    expect(await outcome(keys, 'first')).toBe('key');
    listing.answer(200, { public_keys: [SECOND] });
    clock.advance(DAY);
    expect(await outcome(keys, 'first')).toBe('none');
    expect(await outcome(keys, 'second')).toBe('key');
  });

  it('does not extend the life of a removed key with each fetch', async () => {
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

  it.each<[string, number, unknown, Record<string, string>?]>([
    ['an error', 500, ''],
    ['a rate limit', 403, { message: 'API rate limit exceeded' }],
    ['not JSON', 200, '<html>'],
    ['another shape', 200, { keys: [] }],
    ['null', 200, 'null'],
    ['an object of keys', 200, { public_keys: { first: FIRST.key } }],
    ['more than 64 KiB', 200, { public_keys: [FIRST], more: 'x'.repeat(65_536) }],
  ])('reports an answer that is %s, and retries soon', async (_, status, body, headers) => {
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

  // Nobody has agreed to trust the target of a redirect.
  it('does not follow redirects', async () => {
    const { keys } = await open();
    const elsewhere = await openListing([FIRST]);
    listing.answer(302, '', { location: elsewhere.url });
    expect(await outcome(keys, 'first')).toBe('not known');
    expect(elsewhere.asked()).toBe(0);
    elsewhere.close();
  });

  it('aborts a fetch after five seconds', async () => {
    const signals: AbortSignal[] = [];
    const never = (_url: string, { signal }: RequestInit): Promise<Response> => {
      if (signal) signals.push(signal);
      return new Promise(() => {});
    };
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const found = outcome(
      createPublishedKeys(
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

  it('keeps using its keys for a day while the list is unavailable', async () => {
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

  // Regression: a slow list delayed the first report of the day, and a removed key stayed valid.
  it('refreshes the list after an hour in the background, and reports a failure', async () => {
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
    listing.answer(200, { public_keys: [SECOND] });
    clock.advance(5_000);
    expect(await outcome(keys, 'first')).toBe('key');
    await eventually(async () => listing.asked() === 3, 'the list is fetched');
    await eventually(async () => (await outcome(keys, 'second')) === 'key', 'second is known');
    expect(listing.asked()).toBe(3);
  });

  it('skips unreadable entries and keeps the others', async () => {
    const odd = [
      null,
      'x',
      {},
      { ...SECOND, key: 'x' },
      { ...SECOND, key: undefined },
      { ...SECOND, key_identifier: 4 },
    ];
    const { keys } = await open([...(odd as (typeof FIRST)[]), FIRST]);
    expect(await outcome(keys, 'first')).toBe('key');
    expect(await outcome(keys, 'second')).toBe('not known');
  });

  it('gives the reason of a failure as the cause', async () => {
    const { keys, errors } = await open();
    listing.answer(500, '');
    await keys.find('first');
    expect(String(causeOf(errors[0]))).toContain('status 500');
  });
});
