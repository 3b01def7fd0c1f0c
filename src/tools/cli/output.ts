/** What the command prints: results on standard output, everything else on standard error. */
import { replaceInvisible } from '../../core/masking.js';
import { CommandError } from './command-error.js';

/** Colours, by what they mean. */
const STYLES = { good: 32, bad: 31, doubt: 33, dim: 2, strong: 1 } as const;

/** What a text means. */
export type Style = keyof typeof STYLES;

/** Where a command writes. */
export interface Output {
  /** Whether results are JSON. */
  readonly isJson: boolean;
  /** How many columns a line may have; infinity where standard output is no terminal. */
  readonly width: number;
  /** Writes a line of a result. Resolves when it is written, so that nothing piles up. */
  line(text: string): Promise<void>;
  /** The same for one object as JSON. */
  json(value: unknown): Promise<void>;
  /** Writes a line for people. */
  say(text: string): void;
  /** A text in a colour, where there are colours. */
  paint(style: Style, text: string): string;
}

/** Nobody reads standard output any more, as behind `| head -1`. */
export class ReaderGone extends Error {}

/** Makes the output of this process. */
export function createOutput(isJson: boolean): Output {
  const { stdout, stderr, env } = process;
  // What fails is told where it is written; without a listener it would end the process.
  stdout.on('error', () => {});
  stderr.on('error', () => {});
  const isColoured = hasColours(stdout, env);
  const output: Output = {
    isJson,
    width: stdout.isTTY ? stdout.columns : Number.POSITIVE_INFINITY,
    line: (text) => write(stdout, `${text}\n`),
    json: (value) => output.line(escapeInvisible(JSON.stringify(value))),
    say: (text) => void stderr.write(`${text}\n`),
    paint: (style, text) => (isColoured ? `\u001b[${STYLES[style]}m${text}\u001b[0m` : text),
  };
  return output;
}

/** As Node has it: FORCE_COLOR decides where it is set, then NO_COLOR, then the terminal. */
function hasColours(stdout: NodeJS.WriteStream, env: NodeJS.ProcessEnv): boolean {
  const { FORCE_COLOR, NO_COLOR } = env;
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false;
  return stdout.isTTY && stdout.hasColors();
}

function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => {
      if (error === null || error === undefined) resolve();
      else reject(failureOf(error));
    });
  });
}

function failureOf({ code }: NodeJS.ErrnoException): Error {
  // A stream that was destroyed after EPIPE refuses what follows.
  const isGone = code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED';
  if (isGone) return new ReaderGone('nobody reads the output');
  return new CommandError('store', `Standard output cannot be written: ${code ?? 'it failed'}.`);
}

/**
 * Writes invisible characters out, as `\u001b`: anyone who can write to the database could
 * otherwise move the cursor, hide lines or answer for the terminal. In JSON they mean the same.
 */
export function escapeInvisible(text: string): string {
  return replaceInvisible(text, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
