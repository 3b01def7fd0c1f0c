/** Explores every order of the steps of a simulation, and looks at each reached state once. */
import { hash } from 'node:crypto';
import type { Setting } from './simulated-process.ts';
import { type Option, Simulation } from './simulation.ts';

/** The result of exploring all schedules of a setting. */
export interface Exploration {
  /** The number of complete schedules, from the start until nothing is left to do. */
  readonly schedules: number;
  /**
   * The number of schedules with crashes, which are prefixes of schedules. A process that takes no
   * further step has crashed, so in each prefix every process that had not ended has crashed. Its
   * last command may have taken effect or not.
   */
  readonly withCrashes: number;
  readonly states: number;
  /** The number of runs from the start. */
  readonly runs: number;
  /** The first faulty run: its steps, and the faults. */
  readonly wrong: readonly string[];
}

/** A reached state, and what is known about its successors. */
interface Node {
  readonly options: number;
  tried: number;
  /** Whether everything that follows has been tried. */
  isDone: boolean;
  schedules: number;
  withCrashes: number;
}

/** A node on the way of a run, and the option that the run took there. */
interface Turn {
  readonly node: Node;
  readonly taken: number;
}

/**
 * Explores depth first. A run cannot be forked, so each starts again and takes the same steps up to
 * the point where it should differ. It ends at a known state, whose successors were already tried.
 * Throws if a state recurs within a run, because a run never goes back.
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

/** Starts a new run, and repeats the steps of the last one. */
async function repeat(setting: Setting, turns: readonly Turn[]): Promise<Simulation> {
  const world = await Simulation.begin(setting);
  for (const { taken } of turns) await world.take(world.options()[taken] as Option);
  return world;
}

/** Takes untried options until none is left, or until the state is known. */
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
    // 128 bits of it: among a million states, two collide with a probability of 10^-27.
    const name = hash('sha256', world.state(), 'base64url').slice(0, 22);
    const before = known.get(name);
    if (before?.isDone === false) throw new Error('a run came back to a state that it had left');
    if (before !== undefined || world.wrong.length > 0) return before ?? node;
    node = createNode(world);
    known.set(name, node);
    if (world.wrong.length > 0) return node;
  }
  return node;
}

/** Adds a new state, and checks what must hold at any time. */
function createNode(world: Simulation): Node {
  const options = world.options().length;
  world.check();
  if (options === 0) world.checkEnd();
  const schedules = options === 0 ? 1 : 0;
  return { options, tried: 0, isDone: options === 0, schedules, withCrashes: 1 };
}

/** Goes back to the last node with an untried option, if there is one. */
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

/** Repeats a run, and returns the names of its steps. */
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
 * Finds the successors of each state by running every schedule, without skipping known states. If a
 * state has two sets of successors, it does not describe everything.
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
