/**
 * What the command prints: results on standard output, everything else on standard error. Nothing
 * else of the command writes to either, so that no text reaches a terminal as others wrote it.
 */
import { escapeLine, escapeLines, toJson } from '../escape.js';
import { CommandError } from './command-error.js';

/** Colours, by what they mean. */
const STYLES = { good: 32, bad: 31, doubt: 33, dim: 2, strong: 1 } as const;

/** What a text means. */
export type Style = keyof typeof STYLES;

/** A part of a line: as it is, or in a colour where there are colours. */
export type Part = string | { readonly style: Style; readonly text: string };

/** Where a command writes. */
export interface Output {
  /** Whether results are JSON. */
  readonly isJson: boolean;
  /** How many columns a line may have; infinity where standard output is no terminal. */
  readonly width: number;
  /** Writes a line of a result. Resolves when it is written, so that nothing piles up. */
  line(...parts: readonly Part[]): Promise<void>;
  /** The same for a text of several lines. Texts of others in it must have no line feeds. */
  lines(text: string): Promise<void>;
  /** The same for one object as JSON. */
  json(value: unknown): Promise<void>;
  /** Writes a line for people. */
  say(text: string): void;
  /** Writes what is answered on the same line. */
  ask(question: string): void;
  /** Writes over the last line of a terminal, if nothing else was written since. */
  replaceLine(text: string): void;
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
  function shown(part: Part): string {
    if (typeof part === 'string') return escapeLine(part);
    const text = escapeLine(part.text);
    return isColoured ? `\u001b[${STYLES[part.style]}m${text}\u001b[0m` : text;
  }
  return {
    isJson,
    width: stdout.isTTY ? stdout.columns : Number.POSITIVE_INFINITY,
    line: (...parts) => write(stdout, `${parts.map(shown).join('')}\n`),
    lines: (text) => write(stdout, `${escapeLines(text.trimEnd())}\n`),
    json: (value) => write(stdout, `${toJson(value)}\n`),
    say: (text) => void stderr.write(`${escapeLine(text)}\n`),
    ask: (question) => void stderr.write(escapeLine(question)),
    replaceLine: (text) => void stderr.write(`\r\u001b[K${escapeLine(text)}`),
  };
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
