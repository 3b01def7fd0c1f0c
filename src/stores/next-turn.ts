/** The next turn of the event loop. */

type Turn = (run: () => void) => unknown;

/**
 * Runs something in the next turn, after all events of this one. Without `setImmediate`, a
 * microtask still comes after what the present event does.
 */
export const nextTurn: Turn =
  (globalThis as { setImmediate?: Turn }).setImmediate ?? queueMicrotask;
