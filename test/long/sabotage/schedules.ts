/**
 * Safeguards that only matter for the order of steps: without one, each single call is still right.
 * The quick part of `npm run lab -- exhaustive` finds them, and so does the long one.
 */
import type { Safeguard } from './safeguard.ts';

const SCHEDULES = 'test/slow/schedules.test.ts';
const ROTATE = 'src/management/rotate.ts';
const MARKS = 'src/stores/marks.ts';
const CACHE_STORE = 'src/cache/cache-store.ts';

const MINTED = '  const { issued, record } = await mint(context, authority, draft, acting, old);\n';
const WROTE = '  const wrote = await context.store.mark(keyId, mark);\n';
const RETIRED = `  const mark = {
    kind: 'retire',
    at: time,
    retireAt,
    withdrawn: old.withdrawn,
    ...authority.said,
  } as const;
${WROTE}`;

const MARKED = `runThen(
        () => outdateAround(changes, [keyId], () => store.mark(keyId, mark, call)),
        () => channel.publish(keyId),
      )`;
const PUBLISHED_FIRST = `runThen(
        () => channel.publish(keyId) as never,
        () => {},
      ) ?? outdateAround(changes, [keyId], () => store.mark(keyId, mark, call))`;

const ROTATIONS: readonly Safeguard[] = [
  {
    name: 'schedules: the successor is stored before its predecessor ends',
    file: ROTATE,
    text: MINTED + RETIRED,
    instead: RETIRED + MINTED,
    tests: SCHEDULES,
  },
  {
    name: 'schedules: a rotation ends the predecessor',
    file: ROTATE,
    text: WROTE,
    instead: '  const wrote = mark.at > -1;\n',
    tests: SCHEDULES,
  },
  {
    name: 'schedules: the loser hands nothing out',
    file: ROTATE,
    text: 'if (!wrote) {',
    instead: 'if (false) {',
    tests: SCHEDULES,
  },
  {
    name: 'schedules: the loser ends its own successor',
    file: ROTATE,
    text: '    await endRow(context, authority, record);\n',
    instead: '',
    tests: SCHEDULES,
  },
  {
    name: 'schedules: a withdrawal is left behind',
    file: ROTATE,
    text: 'const addressable = addressableBy(old);',
    instead: 'const addressable = old.accessibleEntities;',
    tests: SCHEDULES,
  },
  {
    name: 'schedules: a withdrawal during a rotation counts',
    file: MARKS,
    text: 'return isUnmarked && withdrawn.join() === (mark.withdrawn ?? []).join();',
    instead: 'return isUnmarked;',
    tests: SCHEDULES,
  },
  {
    name: 'schedules: a key retires once',
    file: MARKS,
    text: 'revokedAt === null && suspendedAt === null && retireAt === null;',
    instead: 'revokedAt === null && suspendedAt === null;',
    tests: SCHEDULES,
  },
  {
    name: 'schedules: a key suspended meanwhile does not retire',
    file: MARKS,
    text: 'revokedAt === null && suspendedAt === null && retireAt === null;',
    instead: 'revokedAt === null && retireAt === null;',
    tests: SCHEDULES,
  },
  {
    name: 'schedules: a suspended key can be revoked',
    file: MARKS,
    text: 'replaces === null ? revokedAt === null :',
    instead: 'replaces === null ? revokedAt === null && suspendedAt === null :',
    tests: SCHEDULES,
  },
];

const CACHES: readonly Safeguard[] = [
  {
    name: 'schedules: a key marked here is not answered from before',
    file: CACHE_STORE,
    text: 'outdateAround(changes, [keyId], ',
    instead: 'outdateAround(changes, [], ',
    tests: SCHEDULES,
  },
  {
    name: 'schedules: nor from a look-up during the write',
    file: CACHE_STORE,
    text: 'return runThen(write, outdateNames);',
    instead: 'return write();',
    tests: SCHEDULES,
  },
  {
    name: 'schedules: a key that is made here is known here',
    file: CACHE_STORE,
    text: '[record.digest, record.keyId]',
    instead: '[record.keyId]',
    tests: SCHEDULES,
  },
  {
    name: 'schedules: a look-up in flight is as old as when it was sent',
    file: 'src/cache/known-changes.ts',
    text: 'changedIn !== undefined && changedIn > entry.generation',
    instead: 'false',
    tests: SCHEDULES,
  },
  {
    name: 'schedules: a look-up that joins in a storm checks the answer',
    file: 'src/cache/lookups.ts',
    text: 'joined.entry.generation >= request.askedIn ? answer : joinOrAsk(lookups, request)',
    instead: 'answer',
    tests: SCHEDULES,
  },
  {
    name: 'schedules: a message follows the write',
    file: CACHE_STORE,
    text: MARKED,
    instead: PUBLISHED_FIRST,
    tests: SCHEDULES,
  },
  {
    name: 'schedules: a mark is published',
    file: CACHE_STORE,
    text: '() => channel.publish(keyId),',
    instead: '() => {},',
    tests: SCHEDULES,
  },
  {
    name: 'schedules: a message is received',
    file: CACHE_STORE,
    text: 'onChange: (keyId) => outdate(changes, keyId),',
    instead: 'onChange() {},',
    tests: SCHEDULES,
  },
  {
    name: 'schedules: a channel that comes up late has missed messages',
    file: CACHE_STORE,
    text: 'onUp: () => outdateAll(changes),',
    instead: 'onUp() {},',
    tests: SCHEDULES,
  },
  {
    name: 'schedules: age counts from before a look-up was sent',
    file: 'src/cache/entries.ts',
    text: 'entryMap.set(entry);',
    instead: 'entryMap.set({ ...entry, since: now() });',
    tests: SCHEDULES,
  },
  {
    name: 'schedules: an entry has an end',
    file: 'src/cache/entries.ts',
    text: 'if (isYoung && bringUpToDate(changes, entry))',
    instead: 'if (bringUpToDate(changes, entry))',
    tests: SCHEDULES,
  },
];

export const ORDERS: readonly Safeguard[] = [...ROTATIONS, ...CACHES];
