/** Tests of `summarize`: one row for each digest scheme that has live keys at the time given. */
import type { KeyStore, SchemeSummary } from '../../core/store.js';
import { same } from '../assertions.js';
import { DAY, LAST, randomHex, type StoreFixture, TIME, uuid } from './fixture.js';
import { besides, INSTANTS } from './instants.js';

/**
 * Whether the store counts at the time it is given. One without that parameter uses its own clock.
 */
function takesTime({ summarize }: KeyStore): boolean {
  return summarize !== undefined && summarize.length > 0;
}

/**
 * Counts keys of two peppers, and keys without one, as they are added. Each scheme must have one
 * row, with the number of its live keys and the latest use of any of them.
 *
 * Catches: rows of other schemes included, counts as text, 0 for never.
 */
export async function summarizesByScheme(fixture: StoreFixture): Promise<void> {
  const { store, scheme, add, summaryOf } = fixture;
  if (store.summarize === undefined) return;
  const other = `${scheme}2`;
  same(await summaryOf(), [], 'a scheme without keys');
  await add();
  same(await summaryOf(), [{ scheme, live: 1, lastUsedAt: null }], 'one key, never used');
  await add({ lastUsedAt: 0 });
  same(await summaryOf(), [{ scheme, live: 2, lastUsedAt: 0 }], 'two keys, one used at time 0');
  await add({ lastUsedAt: 9, entityUuid: uuid() });
  await add({ lastUsedAt: 10 });
  await add({ digest: `${other}$${randomHex()}`, lastUsedAt: TIME + 99 });
  same(await summaryOf(), [{ scheme, live: 4, lastUsedAt: 10 }], 'four keys of two entities');
  const otherRow = { scheme: other, live: 1, lastUsedAt: TIME + 99 };
  same(await summaryOf(TIME, other), [otherRow], 'a second scheme');
  // Other tests have keys of this scheme too.
  const before = await liveWithoutPepper(fixture);
  await add({ digest: `s1$${randomHex()}` });
  same(await liveWithoutPepper(fixture), before + 1, 'keys without a pepper');
}

async function liveWithoutPepper({ summaryOf }: StoreFixture): Promise<number> {
  const [row] = await summaryOf(TIME, 's1');
  return row?.live ?? 0;
}

/**
 * Counts keys that are suspended, revoked, retired or expired, or will be, just before, at and
 * after their deadlines. A key is live until the millisecond of its deadline, a revocation counts
 * whenever it is dated, and a suspended key counts as live, because it can be resumed.
 *
 * Catches: deadlines a millisecond off, 0 taken for none, and the database's own clock.
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
  same(await summaryOf(TIME), [], 'a scheme whose keys are revoked, be it at a time to come');
  await add({ expiresAt: TIME });
  await add({ retireAt: TIME });
  await add({ expiresAt: TIME + 5, retireAt: TIME });
  await add({ expiresAt: TIME, retireAt: TIME + 5 });
  same(await summaryOf(TIME - 1), neverUsed(4), 'a millisecond before the deadline');
  same(await summaryOf(TIME), [], 'at the deadline');
  same(await summaryOf(TIME + 1), [], 'a millisecond after the deadline');
  await add({ suspendedAt: TIME - 1, changedAt: TIME - 1 });
  // Decades apart: whichever clock the database has, one of the two is not its time.
  same(await summaryOf(0), neverUsed(5), 'in 1970');
  same(await summaryOf(TIME * 5), neverUsed(1), 'in 2128');
}

/** The same for a store that uses its own clock, which is less than a day off. */
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
  same(await summaryOf(now), [], 'a scheme whose keys are over, or revoked at a time to come');
  await add({ suspendedAt: past });
  await add({ expiresAt: ahead });
  await add({ retireAt: ahead });
  const row = { scheme, live: 3, lastUsedAt: null };
  same(await summaryOf(now), [row], 'beside them, keys that end in a day or never');
}

/**
 * Counts keys that expire or are retired at every instant, as of every instant. What is live, and
 * its newest use, must be as of the time given, however far from now that is.
 *
 * Catches: a time that goes through a calendar, and a clock that is asked for the newest use.
 */
export async function summarizesAtAnyTime(fixture: StoreFixture): Promise<void> {
  const { store, scheme, add, summaryOf } = fixture;
  if (!takesTime(store)) return;
  // At each time one key expires, and another is retired that was last used then.
  await Promise.all(INSTANTS.map((time) => add({ createdAt: -time, expiresAt: time })));
  await Promise.all(INSTANTS.map((time) => add({ retireAt: time, lastUsedAt: time })));
  for (const now of [...INSTANTS.map(besides), ...INSTANTS, -LAST, LAST]) {
    const later = INSTANTS.filter((time) => time > now);
    const expected: SchemeSummary[] = [];
    if (later.length > 0) {
      expected.push({ scheme, live: 2 * later.length, lastUsedAt: Math.max(...later) });
    }
    same(await summaryOf(now), expected, `live at ${now}`);
  }
}

/**
 * Asks for a summary without a time. It must be as of now.
 *
 * Catches: a time that is required, or that is taken for 0 or null.
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
