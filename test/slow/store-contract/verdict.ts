/** What the store contract says of a store that is wrong. */
import type { KeyStore } from 'keyscope';
import { storeContract } from 'keyscope/testing';
import { expect, test } from 'vitest';
import { type Rows, rightStore } from './right-store.ts';
import type { WrongStore, WrongStores } from './wrong-store.ts';

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

// Of a wrong store, a test is run once, whoever asks for the result.
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
    // What the suite throws says what broke; an engine's error would be a bug of the suite or of
    // the wrong store.
    const speaks = error instanceof Error && error.constructor === Error && error.message !== '';
    if (!speaks) throw new Error(`"${title}" failed and said nothing`, { cause: error });
    return true;
  }
}

/** Sorts what is about the same method as `like` to the front. */
export function nearestFirst(like: string, names: readonly string[]): readonly string[] {
  const [method = ''] = like.split(' ');
  const near = names.filter((name) => name.startsWith(method));
  const rest = names.filter((name) => !name.startsWith(method));
  return [...near, ...rest];
}

/** Registers a test for each wrong store: some test of the contract fails on it. */
export function refusesEach(wrongStores: WrongStores): void {
  test.each(Object.entries(wrongStores))('refuses a store where %s', async (name, wrong) => {
    const noticed = await findFirst(nearestFirst(name, TITLES), (title) => fails(title, wrong));
    expect(noticed).toBeDefined();
  });
}

/** The first of `candidates` that `holds`. */
export async function findFirst(
  candidates: readonly string[],
  holds: (candidate: string) => Promise<boolean>,
): Promise<string | undefined> {
  for (const candidate of candidates) {
    if (await holds(candidate)) return candidate;
  }
  return undefined;
}
