/** Every order of the steps of a simulation, with each state that is reached looked at once. */
import { hash } from 'node:crypto';
import type { Setting } from './simulated-process.ts';
import { type Option, Simulation } from './simulation.ts';

/** What was found by going through all schedules of a setting. */
export interface Exploration {
  /** Orders of all steps, from the start to where nothing is left to happen. */
  readonly schedules: number;
  /**
   * The same with crashes: orders of some of the steps. Who takes no further step has crashed, so
   * each beginning of a schedule is one in which whoever had not ended has crashed. What it had
   * sent may have taken effect or not.
   */
  readonly withCrashes: number;
  readonly states: number;
  /** How often everything was run from the start. */
  readonly runs: number;
  /** The first run that was found wrong: its steps, and what was wrong. */
  readonly wrong: readonly string[];
}

/** A state that was reached, and what is known of what follows. */
interface Node {
  readonly options: number;
  tried: number;
  /** All that follows has been tried. */
  isDone: boolean;
  schedules: number;
  withCrashes: number;
}

/** A node that a run came through, and the option that it took there. */
interface Turn {
  readonly node: Node;
  readonly taken: number;
}

/**
 * Depth first. A run cannot be forked, so each begins anew, takes the same steps up to where it is
 * to differ, and ends where it comes to a state that is known: what follows from there was tried.
 * Throws if a state comes again within a run, because a run never goes back.
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

/** A new run, up to where the others went. */
async function repeat(setting: Setting, turns: readonly Turn[]): Promise<Simulation> {
  const world = await Simulation.begin(setting);
  for (const { taken } of turns) await world.take(world.options()[taken] as Option);
  return world;
}

/** Takes what was not taken before, until there is nothing left, or nothing new. */
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
    // 128 bits of it: among a million states, two are taken for one with a chance of 10^-27.
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

/** A state that was not known: what holds at any time must hold in it. */
function createNode(world: Simulation): Node {
  const options = world.options().length;
  world.check();
  if (options === 0) world.checkEnd();
  const schedules = options === 0 ? 1 : 0;
  return { options, tried: 0, isDone: options === 0, schedules, withCrashes: 1 };
}

/** To the last node on the way here at which something was not tried; none, if all was. */
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

/** The names of the steps of a run, which is run again for them. */
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
 * What follows each state, found without looking whether a state is known: every schedule is run.
 * A state that has two answers is none.
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
