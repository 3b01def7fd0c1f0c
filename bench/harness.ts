/**
 * Times cases side by side. Every round runs each case once, in an order drawn anew, so that
 * whatever disturbs the machine disturbs all of them alike. A figure is the 10th percentile of the
 * rounds: what a case takes when nothing disturbs it, without being the one lucky round.
 */
export interface Case<Input> {
  readonly name: string;
  /** Operations in one call. Default: 1. */
  readonly batch?: number;
  /** Throws if the case does not do what it claims. Runs before anything is timed. */
  readonly check: () => unknown;
  /** Makes the input of one call; not timed. */
  prepare(): Input;
  /** One call; awaited if it returns a promise. */
  run(input: Input): unknown;
}

export interface Figure {
  /** Nanoseconds per operation: the 10th percentile of the rounds. */
  readonly ns: number;
  /** From the 10th to the 90th percentile of the rounds, in parts of the median. */
  readonly spread: number;
}

// ── Numbers ──────────────────────────────────────────────────────────────────────────────────────

export type Draw = (below: number) => number;

/** Mulberry32: the same numbers in every run. Not for secrets. */
export function drawer(seed: number): Draw {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

export function shuffled<T>(list: readonly T[], draw: Draw): T[] {
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

export function figureOf(times: readonly number[]): Figure {
  const ns = quantile(times, 0.1);
  return { ns, spread: (quantile(times, 0.9) - ns) / quantile(times, 0.5) };
}

// ── Rounds ───────────────────────────────────────────────────────────────────────────────────────

/** How long a case runs in a round, once it is compiled. */
const TURN_MS = 4;

/**
 * One turn of a case: nanoseconds per operation. Inputs are made anew for each call, because a
 * string that was looked up before has its hash cached, and would look faster than one from a
 * socket.
 */
async function takeTurn<Input>(each: Case<Input>, calls: number): Promise<number> {
  const inputs = Array.from({ length: calls }, () => each.prepare());
  const start = performance.now();
  for (const input of inputs) {
    const answer = each.run(input);
    if (answer instanceof Promise) await answer;
  }
  return (1e6 * (performance.now() - start)) / (calls * (each.batch ?? 1));
}

/** How many calls fill a turn. */
async function callsOf<Input>(each: Case<Input>): Promise<number> {
  const end = performance.now() + 150;
  let fastest = Number.POSITIVE_INFINITY;
  while (performance.now() < end) fastest = Math.min(fastest, await takeTurn(each, 4));
  const ms = (fastest * (each.batch ?? 1)) / 1e6;
  return Math.max(1, Math.min(5000, Math.round(TURN_MS / ms)));
}

/** Checks each case, warms all of them up, then times them. By name. */
export async function measure<Input>(
  cases: readonly Case<Input>[],
  rounds: number,
): Promise<ReadonlyMap<string, Figure>> {
  for (const { check } of cases) await check();
  const calls = new Map<string, number>();
  for (const each of cases) calls.set(each.name, await callsOf(each));
  const draw = drawer(1);
  const times = new Map<string, number[]>(cases.map(({ name }) => [name, []]));
  for (let round = -Math.ceil(rounds / 5); round < rounds; round++) {
    for (const each of shuffled(cases, draw)) {
      const ns = await takeTurn(each, calls.get(each.name) ?? 1);
      if (round >= 0) times.get(each.name)?.push(ns);
    }
  }
  return new Map(Array.from(times, ([name, all]) => [name, figureOf(all)]));
}
