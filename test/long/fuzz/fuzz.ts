/** Fuzzes one target: mutates the inputs in the corpus and keeps those that reach more code. */
import { inspect } from 'node:util';
import type { Coverage } from './coverage.ts';
import { type Fault, faultOf, shrink } from './faults.ts';
import type { Target } from './judge.ts';
import { mutate, seeded, weigh } from './mutate.ts';

const BATCH = 256;
/** Longer inputs are not tried. */
const MAX_TRIED = 1_100_000;
/** Longer inputs are not kept. */
const MAX_KEPT = 20_000;
/**
 * One in this many rounds measures each input separately even without need, to see how often each
 * runs which code.
 */
const CLOSE_ROUNDS = 64;

export interface Campaign {
  readonly name: string;
  readonly target: Target;
  readonly seconds: number;
  /** Determines the mutations. */
  readonly seed: number;
  readonly coverage: Coverage;
}

/** Fuzzes a target for a while, prints the result, and returns the fault, if any. */
export async function fuzz(campaign: Campaign): Promise<Fault | undefined> {
  const { name, target, seed, coverage } = campaign;
  const begun = performance.now();
  const corpus: unknown[] = [...target.seeds];
  const { fault, count } = await search(campaign, corpus);
  const speed = Math.round((1000 * count) / (performance.now() - begun));
  const tried = `${name}: ${grouped(count)} inputs, ${grouped(speed)} a second`;
  if (fault === undefined) {
    const { run, all } = coverage.sum();
    const reached = `${((100 * run) / all).toFixed(1)} % of the functions that it reached`;
    const kept = `${corpus.length} kept, ${target.seeds.length} of them seeds`;
    console.log(`${tried}; ${kept}; ${reached}; no fault (seed ${seed})`);
    return undefined;
  }
  const { input, what } = await shrink(fault, target.check);
  const shown = inspect(input, { depth: null, maxStringLength: 500, maxArrayLength: 20 });
  console.log(`${tried}; FAULT (seed ${seed}), with\n${shown.slice(0, 4000)}\n${what}`);
  return fault;
}

const grouped = (value: number) => value.toLocaleString('en');

/**
 * Tries inputs until one has a fault or the time is up. Adds inputs that reach more to the corpus.
 */
async function search({ target, seconds, seed, coverage }: Campaign, corpus: unknown[]) {
  const { seeds, words, check } = target;
  const random = seeded(seed);
  const until = performance.now() + 1000 * seconds;
  let count = 0;

  function pick(): unknown {
    return corpus[random(corpus.length)];
  }

  function nextBatch(): readonly unknown[] {
    const changed = Array.from({ length: BATCH }, () =>
      mutate(pick(), random, { words, other: pick() }),
    );
    return changed.filter((input) => weigh(input) <= MAX_TRIED);
  }

  function tryAll(inputs: readonly unknown[]): Promise<Fault | undefined> {
    count += inputs.length;
    return faultOf(check, inputs);
  }

  async function tryEach(inputs: readonly unknown[]): Promise<Fault | undefined> {
    for (const input of inputs) {
      const fault = await tryAll([input]);
      if (fault !== undefined) return fault;
      if (coverage.gained() && weigh(input) <= MAX_KEPT) corpus.push(input);
    }
    return undefined;
  }

  coverage.gained();
  let fault = await tryEach(seeds);
  for (let round = 0; fault === undefined && performance.now() < until; round++) {
    const batch = nextBatch();
    const isClose = round % CLOSE_ROUNDS === 0;
    fault = isClose ? await tryEach(batch) : await tryAll(batch);
    if (fault === undefined && coverage.isNew()) fault = await tryEach(batch);
  }
  return { fault, count };
}
