/**
 * Timing side by side: every round runs every case once, in an order drawn anew, so that what
 * disturbs the machine for a second disturbs all of them alike. A figure is the 10th percentile of
 * the rounds: what a case takes when nothing disturbs it, and it is not the one lucky round.
 *
 * mitata runs each case in a loop compiled for it alone, makes its inputs outside of the timing,
 * unrolls the calls, and awaits only what is a promise. By itself it measures one case to its end
 * and then the next. Here the measurements of all cases are under way at once, and the first input
 * of each sample is a promise that is kept when it is the case's turn: so one sample of a case is
 * its part of a round. Inputs are made anew for each call, because a string that was looked up
 * before has its hash cached and would look faster than one from a socket.
 *
 * Garbage is collected when it is, in whichever case the heap is full: that leaves most of it out.
 * What each case leaves behind is in `memory.ts`.
 */
import { do_not_optimize, measure as measureByMitata } from 'mitata';

export interface Case<Input = unknown> {
  readonly name: string;
  /**
   * Calls in one round. Some milliseconds' worth, so that the clock's grain does not show. Default:
   * 1.
   */
  readonly calls?: number;
  /** Operations in one call: more than one where a call would hide what one costs. */
  readonly batch: number;
  /** Throws where the case does not do what it claims. Runs once, before anything is timed. */
  readonly check: () => unknown;
  /** Runs before the case's part of a round; not timed. */
  readonly renew?: () => unknown;
  /** Makes the input of one call; not timed. */
  prepare(): Input;
  /** One call; awaited where it returns a promise, and only there. */
  run(input: Input): unknown;
  /** Case → what its time is divided by. */
  readonly over: string | null;
}

export interface Figure {
  readonly name: string;
  /** Nanoseconds per operation: the 10th percentile of the rounds. */
  readonly ns: number;
  readonly over: string | null;
  /** Its time in parts of that of `over`; null without. */
  readonly ratio: number | null;
  /** From the 10th to the 90th percentile of the rounds, in parts of the median. */
  readonly spread: number;
}

/** Whatever takes turns: a case of this process, or a process of its own. */
export interface Lane {
  readonly name: string;
  readonly over: string | null;
  /** One part of a round: nanoseconds per operation. */
  readonly turn: () => Promise<number>;
}

// ── Numbers ──────────────────────────────────────────────────────────────────────────────────────

/** Mulberry32: the same order of keys in every run. Not for secrets. */
export function drawer(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

export function shuffled<T>(list: readonly T[], draw: (below: number) => number): T[] {
  const copy = [...list];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = draw(i + 1);
    [copy[i], copy[j]] = [copy[j] as T, copy[i] as T];
  }
  return copy;
}

/** The value below which `part` of the list lies. */
export function quantile(list: readonly number[], part: number): number {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.round(part * (sorted.length - 1))] ?? Number.NaN;
}

/** Times by name, one of each round, to figures. */
export function summarize(
  cases: readonly { readonly name: string; readonly over: string | null }[],
  times: ReadonlyMap<string, readonly number[]>,
): readonly Figure[] {
  const undisturbed = (name: string): number => quantile(times.get(name) ?? [], 0.1);
  return cases.map(({ name, over }) => {
    const ns = undisturbed(name);
    const all = times.get(name) ?? [];
    const spread = (quantile(all, 0.9) - ns) / quantile(all, 0.5);
    return { name, ns, over, ratio: over === null ? null : ns / undisturbed(over), spread };
  });
}

// ── Turns ────────────────────────────────────────────────────────────────────────────────────────

/** Opens once for each `open`, and is shut again behind whoever passed. */
interface Turnstile {
  readonly open: () => void;
  readonly pass: () => Promise<void>;
}

function turnstile(): Turnstile {
  let open = (): void => {};
  const next = () =>
    new Promise<void>((resolve) => {
      open = resolve;
    });
  let opened = next();
  return {
    open: () => open(),
    pass: async () => {
      await opened;
      opened = next();
    },
  };
}

/** Starts mitata on a case, which then waits for its turns; `rounds` of them. */
function laneOf(each: Case, rounds: number): Lane {
  const { name, over, calls = 1, batch, renew } = each;
  const mine = turnstile();
  const done = turnstile();
  let start = 0;
  let took = 0;
  let fresh = true;
  let timing = false;
  function input(): unknown {
    if (!fresh) return each.prepare();
    fresh = false;
    return mine.pass().then(async () => {
      await renew?.();
      return each.prepare();
    });
  }
  // mitata reads this clock before and after each sample, and nowhere else.
  function now(): number {
    const time = 1e6 * performance.now();
    timing = !timing;
    if (timing) start = time;
    else {
      took = time - start;
      fresh = true;
      done.open();
    }
    return time;
  }
  const generator = function* () {
    yield { 0: input, bench: (given: unknown) => each.run(given) } as unknown as () => unknown;
  };
  const failed = measureByMitata(generator, {
    now,
    gc: false,
    min_samples: rounds,
    max_samples: rounds,
    min_cpu_time: 0,
    // One sample is always `calls` calls, however long they take.
    batch_samples: calls,
    batch_unroll: calls % 4 === 0 ? 4 : 1,
    warmup_threshold: Number.POSITIVE_INFINITY,
    batch_threshold: Number.POSITIVE_INFINITY,
  }).then(() => new Promise<never>(() => {}));
  // Whoever takes the next turn is told.
  failed.catch(() => {});
  return {
    name,
    over,
    turn: async () => {
      mine.open();
      await Promise.race([done.pass(), failed]);
      return took / (calls * batch);
    },
  };
}

/** Rounds with a turn for each lane, in an order drawn anew; the first fifth is not counted. */
export async function measureLanes(
  lanes: readonly Lane[],
  rounds: number,
): Promise<readonly Figure[]> {
  const draw = drawer(1);
  const times = new Map<string, number[]>(lanes.map(({ name }) => [name, []]));
  for (let round = -warmUp(rounds); round < rounds; round++) {
    for (const lane of shuffled(lanes, draw)) {
      const ns = await lane.turn();
      if (round >= 0) times.get(lane.name)?.push(ns);
    }
  }
  return summarize(lanes, times);
}

const warmUp = (rounds: number): number => Math.ceil(rounds / 5);

/** The lanes of this process, each checked before anything is timed. */
export async function lanesOf(cases: readonly Case[], rounds: number): Promise<readonly Lane[]> {
  for (const { check } of cases) await check();
  return cases.map((each) => laneOf(each, rounds + warmUp(rounds)));
}

/** Checks each case, warms all of them up, then times them. */
export const measure = async (cases: readonly Case[], rounds: number): Promise<readonly Figure[]> =>
  measureLanes(await lanesOf(cases, rounds), rounds);

/** For results that nobody reads: keeps the compiler from leaving out the work. */
export const keep = do_not_optimize;

// ── Words ────────────────────────────────────────────────────────────────────────────────────────

/** A Markdown table whose columns line up, numbers to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) =>
    Math.max(title.length, 3, ...rows.map((row) => (row[i] ?? '').length)),
  );
  function padded(cell: string, column: number): string {
    const width = widths[column] ?? 0;
    return column === 0 ? cell.padEnd(width) : cell.padStart(width);
  }
  const lineOf = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const dashes = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  const cells = [head, ...rows].map((row) => lineOf(row.map(padded)));
  return cells.toSpliced(1, 0, lineOf(dashes)).join('\n');
}
