/** Tests that `summarize` returns one row per digest scheme with live keys at the given time. */
import type { KeyStore, SchemeSummary } from '../../core/store.js';
import { same } from '../assertions.js';
import { DAY, LAST, randomHex, type StoreFixture, TIME, uuid } from './fixture.js';
import { besides, INSTANTS } from './instants.js';

/**
 * Whether the store counts at the given time. Without that parameter, it uses its own clock.
 */
function takesTime({ summarize }: KeyStore): boolean {
  return summarize !== undefined && summarize.length > 0;
}

/**
 * Adds keys of two peppers and keys without one, and counts them. Each scheme must have one row
 * with the number of its live keys and the latest use of any of them.
 *
 * Catches: including rows of other schemes, counts as text, and 0 for never.
 */
export async function summarizesByScheme(fixture: StoreFixture): Promise<void> {
  const { store, scheme, add, summaryOf } = fixture;
  if (store.summarize === undefined) return;
  const other = `${scheme}2`;
  same(await summaryOf(), [], 'summarize without keys');
  await add();
  const one = { scheme, live: 1, lastUsedAt: null };
  same(await summaryOf(), [one], 'summarize with a key that was never used');
  await add({ lastUsedAt: 0 });
  const two = { scheme, live: 2, lastUsedAt: 0 };
  same(await summaryOf(), [two], 'summarize with two keys, one used at time 0');
  await add({ lastUsedAt: 9, entityId: uuid() });
  await add({ lastUsedAt: 10 });
  await add({ digest: `${other}$${randomHex()}`, lastUsedAt: TIME + 99 });
  const four = { scheme, live: 4, lastUsedAt: 10 };
  same(await summaryOf(), [four], 'summarize with four keys of two entities');
  const otherRow = { scheme: other, live: 1, lastUsedAt: TIME + 99 };
  same(await summaryOf(TIME, other), [otherRow], 'summarize, the row of a second scheme');
  // Other tests have keys without a pepper too.
  const before = await liveWithoutPepper(fixture);
  await add({ digest: `s1$${randomHex()}` });
  const now = await liveWithoutPepper(fixture);
  same(now, before + 1, 'how many keys without a pepper summarize counts');
}

async function liveWithoutPepper({ summaryOf }: StoreFixture): Promise<number> {
  const [row] = await summaryOf(TIME, 's1');
  return row?.live ?? 0;
}

/**
 * Counts suspended, revoked, retired and expired keys just before, at and after their deadlines. A
 * key is live until the millisecond of its deadline. A revocation counts whatever its date. A
 * suspended key counts as live, because it can be resumed.
 *
 * Catches: deadlines that are off by a millisecond, treating 0 as none, and using the database's
 * own clock.
 */
export async function summarizesLiveKeys(fixture: StoreFixture): Promise<void> {
  const { store, scheme, add, summaryOf } = fixture;
  if (store.summarize === undefined) return;
  if (!takesTime(store)) return summarizesLiveKeysNow(fixture);
  const neverUsed = (live: number): SchemeSummary[] => [{ scheme, live, lastUsedAt: null }];
  await add({ revokedAt: TIME - 1 });
  await add({ revokedAt: TIME + DAY, expiresAt: TIME + DAY });
  await add({ revokedAt: 0 });
  await add({ retireAt: 0 });
  await add({ expiresAt: 0 });
  same(await summaryOf(TIME), [], 'summarize with ended keys, one revoked at a future time');
  await add({ expiresAt: TIME });
  await add({ retireAt: TIME });
  await add({ expiresAt: TIME + 5, retireAt: TIME });
  await add({ expiresAt: TIME, retireAt: TIME + 5 });
  same(await summaryOf(TIME - 1), neverUsed(4), 'summarize a millisecond before the deadline');
  same(await summaryOf(TIME), [], 'summarize at the deadline');
  same(await summaryOf(TIME + 1), [], 'summarize a millisecond after the deadline');
  await add({ suspendedAt: TIME - 1, changedAt: TIME - 1 });
  // Decades apart, so that the database's own clock cannot match both.
  same(await summaryOf(0), neverUsed(5), 'summarize in 1970');
  same(await summaryOf(TIME * 5), neverUsed(1), 'summarize in 2128');
}

/** Does the same for a store that uses its own clock, if that is less than a day off. */
async function summarizesLiveKeysNow(fixture: StoreFixture): Promise<void> {
  const { scheme, add, summaryOf } = fixture;
  const now = Date.now();
  const past = now - DAY;
  const ahead = now + DAY;
  for (const time of [past, 0]) {
    await add({ revokedAt: time });
    await add({ retireAt: time });
    await add({ expiresAt: time });
  }
  await add({ revokedAt: ahead, expiresAt: ahead });
  await add({ retireAt: ahead, expiresAt: past });
  await add({ retireAt: past, expiresAt: ahead });
  same(await summaryOf(now), [], 'summarize with ended keys, one revoked at a future time');
  await add({ suspendedAt: past });
  await add({ expiresAt: ahead });
  await add({ retireAt: ahead });
  const row = { scheme, live: 3, lastUsedAt: null };
  same(await summaryOf(now), [row], 'summarize with three live keys next to ended ones');
}

/**
 * Counts keys that expire or retire at every time of {@link INSTANTS}, at each of these times. The
 * count and the latest use must fit the given time, however distant.
 *
 * Catches: converting a time through a calendar, and using the store's clock for the latest use.
 */
export async function summarizesAtAnyTime(fixture: StoreFixture): Promise<void> {
  const { store, scheme, add, summaryOf } = fixture;
  if (!takesTime(store)) return;
  // At each time, one key expires and another retires, which was last used then.
  await Promise.all(INSTANTS.map((time) => add({ createdAt: -time, expiresAt: time })));
  await Promise.all(INSTANTS.map((time) => add({ retireAt: time, lastUsedAt: time })));
  for (const now of [...INSTANTS.map(besides), ...INSTANTS, -LAST, LAST]) {
    const later = INSTANTS.filter((time) => time > now);
    const expected: SchemeSummary[] = [];
    if (later.length > 0) {
      expected.push({ scheme, live: 2 * later.length, lastUsedAt: Math.max(...later) });
    }
    same(await summaryOf(now), expected, `summarize at ${now}`);
  }
}

/**
 * Calls `summarize` without a time. It must count at the current time.
 *
 * Catches: requiring a time, and treating a missing time as 0 or null.
 */
export async function summarizesNowByDefault({ store, scheme, add }: StoreFixture): Promise<void> {
  if (store.summarize === undefined) return;
  const now = Date.now();
  await add({ expiresAt: now - DAY, lastUsedAt: 5 });
  await add({ expiresAt: now + DAY, lastUsedAt: 3 });
  await add({ retireAt: now + DAY });
  const rows = await store.summarize();
  const own = rows.filter((row) => row.scheme === scheme);
  same(own, [{ scheme, live: 2, lastUsedAt: 3 }], 'summarize without a time');
}
