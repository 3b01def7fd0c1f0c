/** The settings of `npm run lab -- exhaustive`: concurrent calls, with and without caches. */
import { OVERLAP_MS } from './simulated-calls.ts';
import type { Act, Command, KeyName, ProcessPlan, Setting } from './simulated-process.ts';

export interface Scenario {
  readonly name: string;
  readonly setting: Setting;
}

/** Scenarios of one kind. */
export interface Family {
  readonly name: string;
  readonly scenarios: readonly Scenario[];
}

const HALF_MS = 2_000;
const PLAIN: Omit<Setting, 'processes'> = {
  channel: 'none',
  maxStalenessMs: 2 * HALF_MS,
  isSuspended: false,
  hasChild: false,
  ticks: [],
  failures: 0,
};

/** Longer than the time in which look-ups join, and shorter than any entry's life. */
const WHILE_MS = 1_500;

const MARKING: readonly Act[] = ['rotate', 'revoke', 'suspend', 'resume', 'withdraw'];
const ACTS: readonly Act[] = [...MARKING, 'verify'];
const ALL_ACTS: readonly Act[] = [...ACTS, 'revokeLineage', 'rotate with overlap'];

function acting(...acts: readonly Act[]): readonly Command[] {
  return acts.map((act) => ({ act, key: 'first' }));
}

function verifying(...keys: readonly KeyName[]): readonly Command[] {
  return keys.map((key) => ({ act: 'verify', key }));
}

function plain(...callers: ProcessPlan['callers']): ProcessPlan {
  return { isCached: false, callers };
}

function cached(...callers: ProcessPlan['callers']): ProcessPlan {
  return { isCached: true, callers };
}

const ONCE = verifying('first');
const TWICE = verifying('first', 'first');
/** Also verifies the successor, once there is one. */
const BOTH = verifying('first', 'newest', 'first');

/** Returns every choice of `count` elements, in any order. */
function choices<T>(list: readonly T[], count: number): T[][] {
  if (count === 0) return [[]];
  return list.flatMap((first, index) =>
    choices(list.slice(index), count - 1).map((others) => [first, ...others]),
  );
}

/** Calls that start at any time, each in a separate process without a cache. */
function together(acts: readonly Act[], over: Partial<Setting>): Scenario {
  const start = over.isSuspended === true ? ' of a suspended key' : '';
  const processes = acts.map((act) => plain(acting(act)));
  return { name: `${acts.join(' | ')}${start}`, setting: { ...PLAIN, ...over, processes } };
}

/** Surrounds a mark with other calls. A key that is resumed is suspended before. */
function around(
  over: Partial<Setting>,
  processesFor: (act: Act) => readonly ProcessPlan[],
  acts: readonly Act[] = MARKING,
): readonly Scenario[] {
  return acts.map((act) => {
    const isSuspended = act === 'resume';
    return { name: act, setting: { ...PLAIN, isSuspended, ...over, processes: processesFor(act) } };
  });
}

const TWO_CALLS: Family = {
  name: 'two calls, of which two fail',
  scenarios: choices(ALL_ACTS, 2).flatMap((acts) => [
    together(acts, { failures: 2, ticks: [OVERLAP_MS] }),
    together(acts, { failures: 2, isSuspended: true }),
  ]),
};

const THREE_CALLS: Family = {
  name: 'three calls',
  scenarios: [
    ...choices(ACTS, 3).map((acts) => together(acts, {})),
    ...choices(ACTS, 3)
      .filter((acts) => acts.includes('resume'))
      .map((acts) => together(acts, { isSuspended: true })),
  ],
};

const THREE_CALLS_THAT_FAIL: Family = {
  name: 'two rotations and a call, of which one fails',
  scenarios: ACTS.map((act) => together(['rotate', 'rotate', act], { failures: 1 })),
};

const LINEAGES: Family = {
  name: 'a rotation, the end of its lineage, and a call',
  scenarios: ACTS.map((act) => together(['rotate', 'revokeLineage', act], {})),
};

/** The calls of the first key while its lineage ends. */
const UNDER: readonly Command[] = [
  { act: 'issue under', key: 'first' },
  { act: 'rotate under', key: 'first' },
  { act: 'resume under', key: 'second' },
];

function underFirst(over: Partial<Setting>, ...others: readonly Command[]): readonly Scenario[] {
  return UNDER.map((command) => ({
    name: [command, ...others].map(({ act }) => act).join(' | '),
    setting: {
      ...PLAIN,
      hasChild: command.act === 'resume under',
      ...over,
      processes: [command, ...others].map((each) => plain([each])),
    },
  }));
}

const ENDING: Family = {
  name: 'calls of a key while its lineage ends; a call fails',
  scenarios: (['revokeLineage', 'revoke'] as const).flatMap((act) =>
    underFirst({ failures: 1 }, { act, key: 'first' }),
  ),
};

const ENDING_OF_THREE: Family = {
  name: 'calls of a key while its lineage ends, and another call',
  scenarios: ACTS.flatMap((act) =>
    underFirst({}, { act: 'revokeLineage', key: 'first' }, { act, key: 'first' }),
  ),
};

const SUCCESSORS: Family = {
  name: 'rotations of successors',
  scenarios: MARKING.map((act) => ({
    name: act,
    setting: {
      ...PLAIN,
      processes: [
        plain([...acting('rotate'), { act: 'rotate', key: 'newest' }]),
        plain([
          { act, key: 'newest' },
          { act: 'verify', key: 'newest' },
        ]),
      ],
    },
  })),
};

const FAILING_CACHES: Family = {
  name: 'one cache, two calls; a write fails',
  scenarios: around({ ticks: [HALF_MS], failures: 1 }, (act) => [
    cached([...acting(act), ...ONCE], ONCE),
  ]),
};

const ONE_CACHE_TWO_CALLS: Family = {
  name: 'one cache, two calls',
  scenarios: around({}, (act) => [cached([...acting(act), ...ONCE], ONCE)]),
};

const ONE_CACHE: Family = {
  name: 'one cache, three calls',
  scenarios: around({}, (act) => [cached([...acting(act), ...ONCE], TWICE, ONCE)]),
};

/** Pairs of calls that interact, each in a different way. */
const PAIRS: readonly (readonly [Act, Act])[] = [
  ['rotate', 'withdraw'],
  ['suspend', 'revoke'],
  ['suspend', 'resume'],
];

const TWO_MARKS: Family = {
  name: 'one cache, two marks',
  scenarios: PAIRS.map(([first, second]) => ({
    name: `${first} | ${second}`,
    setting: { ...PLAIN, processes: [cached(ONCE, acting(first), acting(second))] },
  })),
};

const WITH_CHANNEL: Family = {
  name: 'two caches and a channel',
  scenarios: around({ channel: 'later' }, (act) => [
    cached(BOTH, ONCE),
    cached([...acting(act), ...ONCE]),
  ]),
};

const WITH_TWO_WRITERS: Family = {
  name: 'three caches and a channel',
  // Only one pair, because each takes four seconds of a core, and the run should end within a
  // minute.
  scenarios: PAIRS.slice(0, 1).map(([first, second]) => ({
    name: `${first} | ${second}`,
    setting: {
      ...PLAIN,
      channel: 'later',
      processes: [cached(TWICE), cached(acting(first)), cached(acting(second))],
    },
  })),
};

const STORM: Family = {
  name: 'look-ups in a storm of marks',
  scenarios: [
    {
      name: 'suspend, resume',
      setting: {
        ...PLAIN,
        channel: 'later',
        processes: [cached(ONCE, ONCE, ONCE), cached(acting('suspend', 'resume'))],
      },
    },
  ],
};

const CHANNEL_THAT_FAILS: Family = {
  name: 'two caches and a channel; a write fails',
  scenarios: around({ channel: 'later', failures: 1 }, (act) => [
    cached(BOTH),
    cached([...acting(act), ...ONCE]),
  ]),
};

const LATE_CHANNEL: Family = {
  name: 'a channel that comes up late',
  scenarios: around({ channel: 'late' }, (act) => [cached(BOTH), cached(acting(act))]),
};

const WITHOUT_CHANNEL: Family = {
  name: 'a cache without a channel, and time',
  scenarios: around({ ticks: [HALF_MS, HALF_MS] }, (act) => [cached(BOTH), plain(acting(act))]),
};

const TWO_READERS: Family = {
  name: 'a cache without a channel, two readers, and time',
  scenarios: around({ ticks: [WHILE_MS, 2 * HALF_MS - WHILE_MS] }, (act) => [
    cached(TWICE, ONCE),
    plain(acting(act)),
  ]),
};

const ISSUED: Family = {
  name: 'a key that is tried before it is made',
  scenarios: [false, true].map((isCached) => ({
    name: isCached ? 'with caches' : 'without',
    setting: {
      ...PLAIN,
      channel: 'later',
      ticks: [2 * HALF_MS],
      processes: [
        { isCached, callers: [verifying('second', 'second')] },
        {
          isCached,
          callers: [
            [
              { act: 'verify', key: 'second' },
              { act: 'issue', key: 'second' },
              { act: 'verify', key: 'second' },
              { act: 'revoke', key: 'second' },
            ],
          ],
        },
      ],
    },
  })),
};

/** The families, slowest first. */
export const FAMILIES: readonly Family[] = [
  THREE_CALLS,
  THREE_CALLS_THAT_FAIL,
  ENDING_OF_THREE,
  LINEAGES,
  TWO_MARKS,
  ONE_CACHE,
  FAILING_CACHES,
  TWO_READERS,
  WITHOUT_CHANNEL,
  WITH_TWO_WRITERS,
  WITH_CHANNEL,
  CHANNEL_THAT_FAILS,
  LATE_CHANNEL,
  STORM,
  ENDING,
  SUCCESSORS,
  ISSUED,
  TWO_CALLS,
];

/** Families that take seconds, and find the same faults as the others. */
export const QUICK: readonly Family[] = [
  {
    name: 'two calls',
    scenarios: TWO_CALLS.scenarios.map(({ name, setting }) => ({
      name,
      setting: { ...setting, ticks: [], failures: 1 },
    })),
  },
  ENDING,
  SUCCESSORS,
  ONE_CACHE_TWO_CALLS,
  WITH_CHANNEL,
  LATE_CHANNEL,
  WITHOUT_CHANNEL,
  STORM,
  ISSUED,
];
