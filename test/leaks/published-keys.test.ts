/**
 * The list of GitHub's public keys: its form, and how long its keys are accepted.
 * `test/http/fetched-list.test.ts` has the rules of all lists.
 */
import { causeOf } from 'keyscope';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createPublishedKeys } from '../../src/leaks/published-keys.js';
import { eventually } from '../support/eventually.ts';
import {
  createSigner,
  type ListedKey,
  type Listing,
  openListing,
} from '../support/leak-reports.ts';

const FIRST = createSigner('first').listed;
const SECOND = createSigner('second').listed;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let listing: Listing;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  listing.close();
  vi.useRealTimers();
});

/** Moves the clocks, by which lists age. */
function later(ms: number): void {
  vi.advanceTimersByTime(ms);
}

/** Publishes keys, and returns a function that looks one up and names the outcome. */
async function open(listed: readonly ListedKey[] = [FIRST]) {
  listing = await openListing(listed);
  const errors: unknown[] = [];
  const keys = createPublishedKeys(listing.source.fetch, (error) => errors.push(error));
  async function outcome(identifier: string): Promise<string> {
    const key = await keys.find(identifier);
    if (key === undefined) return 'not known';
    return key === null ? 'none' : 'key';
  }
  return { outcome, errors };
}

describe('createPublishedKeys', () => {
  it('uses a list for exactly a day', async () => {
    const { outcome, errors } = await open();
    await outcome('first');
    listing.answer(500, '');
    later(DAY - 1);
    expect(await outcome('first')).toBe('key');
    await eventually(async () => errors.length === 1, 'the failure is reported');
    later(1);
    await expect(outcome('first')).rejects.toThrow(/^github: /);
    listing.answer(200, { public_keys: [SECOND] });
    later(5_000);
    expect(await outcome('first')).toBe('none');
    // The fetch that failed was tried twice.
    expect(listing.asked()).toBe(4);
  });

  it('fetches the list at most once a minute for unknown identifiers', async () => {
    const { outcome } = await open();
    expect(await outcome('unknown')).toBe('none');
    later(MINUTE - 1);
    // The key may have been listed since, and GitHub does not retry a rejected report.
    expect(await outcome('unknown')).toBe('not known');
    expect(listing.asked()).toBe(1);
    later(1);
    expect(await outcome('unknown')).toBe('none');
    expect(listing.asked()).toBe(2);
  });

  it('follows a rotation, and accepts the old key for ten more minutes', async () => {
    const { outcome } = await open();
    await outcome('first');
    listing.answer(200, { public_keys: [SECOND] });
    later(MINUTE);
    expect(await outcome('second')).toBe('key');
    later(10 * MINUTE - 1);
    expect(await outcome('first')).toBe('key');
    later(1);
    expect(await outcome('first')).toBe('none');
    expect(await outcome('second')).toBe('key');
  });

  // Regression: it refused reports that were signed by a listed key during a rotation.
  it.each<[string, object]>([
    ['as not current', { ...FIRST, is_current: false }],
    ['without is_current', { ...FIRST, is_current: undefined }],
  ])('accepts a key listed %s, for as long as it is listed', async (_, entry) => {
    const { outcome } = await open();
    listing.answer(200, { public_keys: [entry, SECOND] });
    expect(await outcome('first')).toBe('key');
    later(DAY);
    expect(await outcome('first')).toBe('key');
    listing.answer(200, { public_keys: [SECOND] });
    later(DAY);
    expect(await outcome('first')).toBe('none');
    expect(await outcome('second')).toBe('key');
  });

  it.each<[string, unknown]>([
    ['another shape', { keys: [] }],
    ['null', 'null'],
    ['an object of keys', { public_keys: { first: FIRST.key } }],
    ['a list without a readable key', { public_keys: [{ ...FIRST, key: 'x' }] }],
  ])('reports an answer that is %s, and retries soon', async (_, body) => {
    const { outcome, errors } = await open();
    listing.answer(200, body);
    await expect(outcome('first')).rejects.toThrow(/^github: /);
    expect(errors).toHaveLength(1);
    expect(String(causeOf(errors[0]))).toMatch(/unknown shape|no usable items/);
    later(5_000);
    listing.answer(200, { public_keys: [FIRST] });
    expect(await outcome('first')).toBe('key');
  });

  // Regression: a slow list delayed the first report of the day, and a removed key stayed valid.
  it('refreshes the list after an hour in the background, and reports a failure', async () => {
    const { outcome, errors } = await open();
    await outcome('first');
    listing.answer(500, '');
    later(HOUR - 1);
    expect(await outcome('first')).toBe('key');
    expect(listing.asked()).toBe(1);
    later(1);
    expect(await outcome('first')).toBe('key');
    await eventually(async () => errors.length === 1, 'the failure is reported');
    listing.answer(200, { public_keys: [SECOND] });
    later(MINUTE);
    expect(await outcome('first')).toBe('key');
    await eventually(async () => (await outcome('second')) === 'key', 'second is known');
    // The fetch that failed was tried twice.
    expect(listing.asked()).toBe(4);
  });

  it('skips unreadable entries and keeps the others', async () => {
    const odd = [
      null,
      'x',
      {},
      { ...SECOND, key: 'x' },
      { ...SECOND, key: undefined },
      { ...SECOND, key: { toString: 1 } },
      { ...SECOND, key_identifier: 4 },
    ];
    const { outcome } = await open([...(odd as unknown as ListedKey[]), FIRST]);
    expect(await outcome('first')).toBe('key');
    expect(await outcome('second')).toBe('not known');
  });
});
