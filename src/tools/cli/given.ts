/** A command line that was read. */
import type { OptionName } from './options.js';

/** What was written behind the name of a subcommand. */
export interface Given {
  /** What stands behind the name; an empty text if it takes nothing. */
  readonly operand: string;
  /** All of them, where several may stand there. */
  readonly operands: readonly string[];
  /** The value of an option that has one. */
  text(name: OptionName): string | undefined;
  /** The same for one without which the subcommand is refused. */
  required(name: OptionName): string;
  /** Whether a switch was written. */
  flag(name: OptionName): boolean;
}
