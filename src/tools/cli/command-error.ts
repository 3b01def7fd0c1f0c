/**
 * Exit codes, errors and suggestions. Separate from `explain.ts`, so that a typo loads little code.
 */

/** The exit codes. They are API: see docs/command.md. */
export const EXIT = {
  done: 0,
  /** Refused, not found, declined; `doctor` found something to do. */
  refused: 1,
  /** The command line is wrong. Nothing was asked of the store. */
  usage: 2,
  /** The config is missing or does not work. */
  config: 3,
  /** The store or the clock is broken, or the output cannot be written. */
  store: 4,
  /** Anything else: a bug in the command or in the config's code. */
  fault: 5,
} as const;

/** Why the command stops. */
export class CommandError extends Error {
  readonly kind: Exclude<keyof typeof EXIT, 'done'>;
  readonly exit: number;

  /** @param exit Default: the exit code of `kind`. */
  constructor(
    kind: Exclude<keyof typeof EXIT, 'done'>,
    message: string,
    exit: number = EXIT[kind],
  ) {
    super(message);
    this.kind = kind;
    this.exit = exit;
  }
}

/** A mistake on the command line. The message says what to write instead. */
export function usageError(message: string): CommandError {
  return new CommandError('usage', message);
}

/** A signal arrived before anything changed. */
export function interruptedBy(exit: number): CommandError {
  return new CommandError('refused', 'Interrupted. Nothing was changed.', exit);
}

/** Returns ` Did you mean …?` with the closest known name, or `''` if none is close. */
export function suggest(text: string, known: readonly string[]): string {
  if (text.length > 60) return '';
  const byDistance = known.map((name) => ({ name, distance: distanceOf(text, name) }));
  const [nearest] = byDistance.sort((a, b) => a.distance - b.distance);
  const bound = Math.max(2, Math.floor(text.length / 3));
  if (nearest === undefined || nearest.distance > bound) return '';
  return ` Did you mean ${nearest.name}?`;
}

/** Levenshtein distance. */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j += 1) {
      const changed = (row[j] ?? 0) + (letter === b[j] ? 0 : 1);
      next.push(Math.min(changed, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
