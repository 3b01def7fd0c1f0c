/**
 * Pairs in processes of their own: a peer's shapes make none of our calls polymorphic, and its
 * garbage is collected on nobody else's time. Each pair runs three times, each time in a new
 * process, by turns with all other pairs. The figures are those of the run whose ratio is in the
 * middle; the spread is how far the three lie apart.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Case, type Figure, measure } from './harness.ts';
import { quick } from './report.ts';

const RUNS = quick ? 1 : 3;
const FLAG = '--pair';

/** What is measured beside each other: the first is what the others' time is divided by. */
export type Pair = () => readonly Case[] | Promise<readonly Case[]>;
export type Pairs = Readonly<Record<string, Pair>>;

/** What several processes measured of one case, as one figure. */
export function together(runs: readonly Figure[]): Figure {
  const ratioOf = ({ ratio, ns }: Figure): number => ratio ?? ns;
  const sorted = runs.toSorted((one, other) => ratioOf(one) - ratioOf(other));
  const middle = sorted[Math.floor(sorted.length / 2)] as Figure;
  const range = ratioOf(sorted.at(-1) as Figure) - ratioOf(sorted[0] as Figure);
  return { ...middle, spread: range / ratioOf(middle) };
}

/** The figures of a pair; none if it cannot be measured here, which its process says. */
async function runPair(file: string, name: string): Promise<readonly Figure[]> {
  const child = fork(fileURLToPath(file), [...process.argv.slice(2), FLAG, name]);
  let figures: readonly Figure[] = [];
  child.on('message', (message) => {
    figures = message as readonly Figure[];
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${name}: its process ended with ${code}`);
  return figures;
}

/**
 * Measures all pairs of a file, which calls this with `import.meta.url` and does nothing else at
 * its top level that takes time: it is run again for each pair. Null in those processes.
 */
export async function measureApart(
  file: string,
  pairs: Pairs,
  rounds: number,
): Promise<ReadonlyMap<string, readonly Figure[]> | null> {
  const own = process.argv.indexOf(FLAG);
  if (own > 0) {
    const open = pairs[process.argv[own + 1] ?? ''] as Pair;
    const cases = await open();
    process.send?.(cases.length > 1 ? await measure(cases, rounds) : []);
    process.disconnect?.();
    return null;
  }
  const runs = new Map<string, (readonly Figure[])[]>();
  for (let run = 0; run < RUNS; run++) {
    for (const name of Object.keys(pairs)) {
      const figures = await runPair(file, name);
      if (figures.length > 0) runs.set(name, [...(runs.get(name) ?? []), figures]);
    }
  }
  const merged = new Map<string, readonly Figure[]>();
  for (const [name, all] of runs) {
    const [first = []] = all;
    merged.set(
      name,
      first.map((_, index) => together(all.map((figures) => figures[index] as Figure))),
    );
  }
  return merged;
}
