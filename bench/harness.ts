/**
 * Timing side by side: every round runs every case once, in an order drawn anew, so that what disturbs the
 * machine for a second disturbs all of them alike. Ratios are taken within a round, medians over the rounds.
 */

export interface Case {
  readonly name: string;
  /** Operations in one round. Some milliseconds' worth, so that the clock's grain does not show. */
  readonly batch: number;
  /** Throws where the case does not do what it claims. Runs once, before anything is timed. */
  readonly check: () => unknown;
  /** Makes the round's input; not timed. */
  readonly prepare: () => unknown;
  /** The operations themselves. */
  readonly run: () => void | Promise<void>;
  /** Case → what its time is divided by. */
  readonly over: string | null;
}

export interface Figure {
  readonly name: string;
  /** Median nanoseconds per operation. */
  readonly ns: number;
  readonly over: string | null;
  /** Median over the rounds of the ratio within a round; null without `over`. */
  readonly ratio: number | null;
  /** From the 10th to the 90th percentile of the rounds, in parts of the median. */
  readonly spread: number;
}

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

async function time({ prepare, run, batch }: Case): Promise<number> {
  await prepare();
  const start = process.hrtime.bigint();
  const running = run();
  // A synchronous case is not charged for an `await` it does not need.
  if (running !== undefined) await running;
  return Number(process.hrtime.bigint() - start) / batch;
}

/** Checks each case, warms all of them up, then times them. */
export async function measure(cases: readonly Case[], rounds: number): Promise<readonly Figure[]> {
  const draw = drawer(1);
  for (const { check } of cases) await check();
  const times = new Map<string, number[]>(cases.map(({ name }) => [name, []]));
  const warmUp = Math.ceil(rounds / 5);
  for (let round = -warmUp; round < rounds; round++) {
    for (const each of shuffled(cases, draw)) {
      const ns = await time(each);
      if (round >= 0) times.get(each.name)?.push(ns);
    }
  }
  return cases.map(({ name, over }) => {
    const own = times.get(name) ?? [];
    const base = over === null ? null : (times.get(over) ?? []);
    const ns = quantile(own, 0.5);
    const ratio =
      base &&
      quantile(
        own.map((t, i) => t / (base[i] ?? Number.NaN)),
        0.5,
      );
    return { name, ns, over, ratio, spread: (quantile(own, 0.9) - quantile(own, 0.1)) / ns };
  });
}

/** A Markdown table whose columns line up, numbers to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) => Math.max(title.length, 3, ...rows.map((row) => (row[i] ?? '').length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(' | ')} |`;
  const rule = `| ${widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}
