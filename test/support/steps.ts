/**
 * Counts the steps of synchronous code instead of its time. Methods that walk through a list count
 * every element; a look-up in a set or map counts one. Native loops count too, so that an
 * `includes` inside a loop shows.
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

const LOOK_UPS = ['add', 'get', 'has', 'set'] as const;

/** Runs `act`, which must be synchronous, and returns its number of steps. */
export function stepsOf(act: () => unknown): number {
  let steps = 0;
  const undo: (() => void)[] = [];

  function count(prototype: object, name: PropertyKey, stepsIn: (self: never) => number): void {
    const own = Object.getOwnPropertyDescriptor(prototype, name);
    if (own === undefined) return;
    const method = own.value as (this: unknown, ...args: unknown[]) => unknown;
    function counting(this: unknown, ...args: unknown[]): unknown {
      steps += stepsIn(this as never);
      return Reflect.apply(method, this, args);
    }
    Object.defineProperty(prototype, name, { ...own, value: counting });
    undo.push(() => Object.defineProperty(prototype, name, own));
  }

  for (const name of WALKS) count(Array.prototype, name, ({ length }: unknown[]) => length);
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
