/** Look-ups a second and their latencies, in rounds. */
import { quantile, shuffled } from '../harness.ts';
import { digestOf } from './keys.ts';
import type { Find } from './target.ts';

export interface Figure {
  /** Look-ups a second. */
  readonly rate: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

export interface Case {
  readonly name: string;
  readonly find: Find;
  /** How many there are to look among. */
  readonly keys: number;
  /** How many look-ups are under way at any time. */
  readonly concurrent: number;
}

export type Draw = (below: number) => number;

/** So many look-ups of random keys. */
async function drive(each: Case, total: number, draw: Draw): Promise<Figure> {
  const { find, keys, concurrent } = each;
  const digests = Array.from({ length: total }, () => digestOf(draw(keys)));
  const times: number[] = [];
  async function work(): Promise<void> {
    for (let digest = digests.pop(); digest !== undefined; digest = digests.pop()) {
      const start = performance.now();
      await find(digest);
      times.push(performance.now() - start);
    }
  }
  const start = performance.now();
  await Promise.all(Array.from({ length: concurrent }, work));
  return {
    rate: (1000 * total) / (performance.now() - start),
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
  };
}

/** Rounds with every case in each; each case gets look-ups for some 100 ms. */
export async function measure(
  cases: readonly Case[],
  rounds: number,
  draw: Draw,
): Promise<ReadonlyMap<Case, readonly Figure[]>> {
  const figures = new Map<Case, Figure[]>(cases.map((each) => [each, []]));
  const totals = new Map<Case, number>();
  for (const each of cases) {
    const { rate } = await drive(each, 4 * each.concurrent + 200, draw);
    totals.set(each, Math.ceil(rate / 10) + each.concurrent);
  }
  for (let round = 0; round < rounds; round++) {
    for (const each of shuffled(cases, draw)) {
      const figure = await drive(each, totals.get(each) ?? 0, draw);
      figures.get(each)?.push(figure);
    }
  }
  return figures;
}

export function median(figures: readonly Figure[], of: keyof Figure): number {
  const values = figures.map((each) => each[of]);
  return quantile(values, 0.5);
}

/** Median of the ratios within a round. */
export function ratio(
  figures: readonly Figure[],
  base: readonly Figure[],
  of: keyof Figure,
): number {
  const ratios = figures.map((each, round) => each[of] / (base[round]?.[of] ?? Number.NaN));
  return quantile(ratios, 0.5);
}
