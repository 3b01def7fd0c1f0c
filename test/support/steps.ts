/**
 * Counts the steps of a piece of code instead of its time. Each method that walks through a list or
 * a text counts every element; each look-up in a set or map counts one. Native walks count as well,
 * so an `includes` inside a loop shows.
 */

const WALKS = [
  'concat',
  'every',
  'filter',
  'find',
  'findIndex',
  'flatMap',
  'forEach',
  'includes',
  'indexOf',
  'join',
  'map',
  'slice',
  'some',
  'sort',
  'toSorted',
  'values',
  Symbol.iterator,
] as const;

const READS = ['match', 'normalize', 'replace', 'search', Symbol.iterator] as const;

const LOOK_UPS = ['add', 'get', 'has', 'set'] as const;

/** Runs `act`, which must be synchronous, and returns its number of steps. */
export function stepsOf(act: () => unknown): number {
  let steps = 0;
  const undo: (() => void)[] = [];

  type StepsIn = (self: never, argument: never) => number;
  function count(prototype: object, name: PropertyKey, stepsIn: StepsIn): void {
    const own = Object.getOwnPropertyDescriptor(prototype, name);
    if (own === undefined) return;
    const method = own.value as (this: unknown, ...args: unknown[]) => unknown;
    function counting(this: unknown, ...args: unknown[]): unknown {
      steps += stepsIn(this as never, args[0] as never);
      return Reflect.apply(method, this, args);
    }
    Object.defineProperty(prototype, name, { ...own, value: counting });
    undo.push(() => Object.defineProperty(prototype, name, own));
  }

  for (const name of WALKS) count(Array.prototype, name, ({ length }: unknown[]) => length);
  for (const name of READS) count(String.prototype, name, ({ length }: string) => length);
  count(RegExp.prototype, 'test', (_: RegExp, text: string) => String(text).length);
  for (const prototype of [Map.prototype, Set.prototype]) {
    for (const name of LOOK_UPS) count(prototype, name, () => 1);
  }
  try {
    act();
  } finally {
    for (const restore of undo) restore();
  }
  return steps;
}
