/** Runs the store contract on wrong stores. */
import type { KeyStore } from 'keyscope';
import { storeContract } from 'keyscope/testing';
import { type Rows, rightStore } from './right-store.ts';
import type { WrongStore } from './wrong-store.ts';

/** The names of the contract's tests. */
export const TITLES: readonly string[] = titlesOf();

function titlesOf(): readonly string[] {
  const titles: string[] = [];
  storeContract((title) => titles.push(title), rightStore);
  return titles;
}

function makeStore(wrong: WrongStore): KeyStore {
  const rows: Rows = new Map();
  const right = rightStore(rows);
  return { ...right, ...wrong(right, rows) } as KeyStore;
}

// Each test runs once per wrong store.
const results = new WeakMap<WrongStore, Map<string, Promise<boolean>>>();

/** Whether the contract's test `title` fails on the wrong store. */
export function fails(title: string, wrong: WrongStore): Promise<boolean> {
  const known = results.get(wrong) ?? new Map<string, Promise<boolean>>();
  results.set(wrong, known);
  const result = known.get(title) ?? runOne(title, wrong);
  known.set(title, result);
  return result;
}

async function runOne(title: string, wrong: WrongStore): Promise<boolean> {
  const runs = new Map<string, () => Promise<void>>();
  storeContract(
    (name, run) => runs.set(name, run),
    () => makeStore(wrong),
  );
  try {
    await runs.get(title)?.();
    return false;
  } catch (error) {
    // An engine's error instead of the suite's own would be a bug in the suite or the wrong store.
    const speaks = error instanceof Error && error.constructor === Error && error.message !== '';
    if (!speaks) throw new Error(`"${title}" failed without a message`, { cause: error });
    return true;
  }
}

/** Sorts names about the same method as `like` to the front. */
export function nearestFirst(like: string, names: readonly string[]): readonly string[] {
  const [method = ''] = like.split(' ');
  const near = names.filter((name) => name.startsWith(method));
  const rest = names.filter((name) => !name.startsWith(method));
  return [...near, ...rest];
}

/** Returns the first candidate for which `holds` is true. */
export async function findFirst(
  candidates: readonly string[],
  holds: (candidate: string) => Promise<boolean>,
): Promise<string | undefined> {
  for (const candidate of candidates) {
    if (await holds(candidate)) return candidate;
  }
  return undefined;
}
