/**
 * How the command ends, and what was meant. Apart from `explain.ts`, so that a typing mistake loads
 * little.
 */

/** What the process exits with. API: see docs/command.md. */
export const EXIT = {
  done: 0,
  /** Refused, not found, declined; `doctor` found something to do. */
  refused: 1,
  /** The command line is wrong. Nothing was asked of the store. */
  usage: 2,
  /** There is no config, or it does not work. */
  config: 3,
  /** The store or the clock is broken, or nothing can be written. */
  store: 4,
  /** None of these: a fault of the command, or of the code of the config. */
  fault: 5,
} as const;

/** Why the command does not do what it was told. */
export class CommandError extends Error {
  readonly kind: Exclude<keyof typeof EXIT, 'done'>;
  readonly exit: number;

  /** @param exit Default: what `kind` stands for. */
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

/** The command line asks for what there is not. The text says what to write instead. */
export function usageError(message: string): CommandError {
  return new CommandError('usage', message);
}

/** A signal came before anything was changed. */
export function interruptedBy(exit: number): CommandError {
  return new CommandError('refused', 'Interrupted; nothing was changed.', exit);
}

/** ` Did you mean …?`, or nothing where nothing is near. */
export function suggest(text: string, known: readonly string[]): string {
  if (text.length > 30) return '';
  const byDistance = known.map((name) => ({ name, distance: distanceOf(text, name) }));
  const [nearest] = byDistance.sort((a, b) => a.distance - b.distance);
  const bound = Math.max(2, Math.floor(text.length / 3));
  if (nearest === undefined || nearest.distance > bound) return '';
  return ` Did you mean ${nearest.name}?`;
}

/** How many letters have to be put in, left out or changed (Levenshtein's distance). */
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
