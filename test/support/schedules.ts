/** Explores every order of the steps of a simulation and examines each reachable state once. */
import { hash } from 'node:crypto';
import type { Setting } from './simulated-process.ts';
import { type Option, Simulation } from './simulation.ts';

/** The result of exploring all schedules of a setting. */
export interface Exploration {
  /** Complete orders of steps, from the start until nothing is left to do. */
  readonly schedules: number;
  /**
   * Every prefix of a schedule: a process that takes no further step has crashed. Its last calls
   * may or may not have taken effect.
   */
  readonly withCrashes: number;
  readonly states: number;
  /** The number of runs from the start. */
  readonly runs: number;
  /** The first faulty run: its steps and the fault. */
  readonly wrong: readonly string[];
}

/** A reached state and what is known about its continuations. */
interface Node {
  readonly options: number;
  tried: number;
  /** All continuations have been tried. */
  isDone: boolean;
  schedules: number;
  withCrashes: number;
}

/** A node on the path of a run, and the option taken there. */
interface Turn {
  readonly node: Node;
  readonly taken: number;
}

/**
 * Depth-first search. A run cannot be forked, so each starts over, repeats the same steps up to the
 * branch, and ends when it reaches a known state. Throws if a state occurs twice within a run,
 * because runs never go back.
 */
export async function explore(setting: Setting): Promise<Exploration> {
  const known = new Map<string, Node>();
  const turns: Turn[] = [];
  const root = createNode(await Simulation.begin(setting));
  let node: Node | undefined = root;
  let runs = 0;
  while (node !== undefined) {
    const world = await repeat(setting, turns);
    runs += 1;
    node = await goOn(world, node, turns, known);
    const { wrong } = world;
    await world.end();
    if (wrong.length > 0) {
      const steps = await namesOf(setting, turns);
      return {
        ...sumOf(root, known),
        runs,
        wrong: [...steps, ...wrong.map((each) => `! ${each}`)],
      };
    }
    node = goBack(node, turns);
  }
  return { ...sumOf(root, known), runs, wrong: [] };
}

/** A new run, replayed to the current branch. */
async function repeat(setting: Setting, turns: readonly Turn[]): Promise<Simulation> {
  const world = await Simulation.begin(setting);
  for (const { taken } of turns) await world.take(world.options()[taken] as Option);
  return world;
}

/** Takes untried options until none is left or the state is known. */
async function goOn(
  world: Simulation,
  from: Node,
  turns: Turn[],
  known: Map<string, Node>,
): Promise<Node> {
  let node = from;
  while (node.tried < node.options) {
    const taken = node.tried;
    node.tried += 1;
    turns.push({ node, taken });
    await world.take(world.options()[taken] as Option);
    // 128 bits: among a million states, two collide with a probability of 10^-27.
    const name = hash('sha256', world.state(), 'base64url').slice(0, 22);
    const before = known.get(name);
    if (before?.isDone === false) throw new Error('a run returned to a state that it had left');
    if (before !== undefined || world.wrong.length > 0) return before ?? node;
    node = createNode(world);
    known.set(name, node);
    if (world.wrong.length > 0) return node;
  }
  return node;
}

/** A new state, in which the invariants must hold. */
function createNode(world: Simulation): Node {
  const options = world.options().length;
  world.check();
  if (options === 0) world.checkEnd();
  const schedules = options === 0 ? 1 : 0;
  return { options, tried: 0, isDone: options === 0, schedules, withCrashes: 1 };
}

/** Returns to the last node on the path with an untried option; undefined if all are tried. */
function goBack(from: Node, turns: Turn[]): Node | undefined {
  let done = from;
  for (let turn = turns.pop(); turn !== undefined; turn = turns.pop()) {
    const { node } = turn;
    node.schedules += done.schedules;
    node.withCrashes += done.withCrashes;
    if (node.tried < node.options) return node;
    node.isDone = true;
    done = node;
  }
  return undefined;
}

function sumOf({ schedules, withCrashes }: Node, known: ReadonlyMap<string, Node>) {
  return { schedules, withCrashes, states: known.size + 1 };
}

/** The names of the steps of a run, obtained by running it again. */
async function namesOf(setting: Setting, turns: readonly Turn[]): Promise<readonly string[]> {
  const world = await Simulation.begin(setting);
  const names: string[] = [];
  for (const { taken } of turns) {
    const option = world.options()[taken] as Option;
    names.push(option.name);
    await world.take(option);
  }
  await world.end();
  return names;
}

/**
 * The continuations of each state, found by running every schedule without recognizing known
 * states. A state with two different answers is a fault.
 */
export async function successorsOf(setting: Setting): Promise<ReadonlyMap<string, Set<string>>> {
  const found = new Map<string, Set<string>>();
  const turns: number[] = [];
  async function visit(): Promise<string> {
    const world = await Simulation.begin(setting);
    for (const taken of turns) await world.take(world.options()[taken] as Option);
    const name = world.state();
    const options = world.options().length;
    await world.end();
    const next: string[] = [];
    for (let taken = 0; taken < options; taken++) {
      turns.push(taken);
      next.push(await visit());
      turns.pop();
    }
    const answers = found.get(name) ?? new Set();
    answers.add(next.sort().join('\n\n'));
    found.set(name, answers);
    return name;
  }
  await visit();
  return found;
}
