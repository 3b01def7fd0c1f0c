/**
 * Prints results on standard output and everything else on standard error. Only this file writes to
 * them, so that every text from outside is escaped.
 */
import { escapeLine, escapeLines, toJson } from '../escape.js';
import { CommandError } from './command-error.js';

/** Colours by meaning. */
const STYLES = { good: 32, bad: 31, doubt: 33, dim: 2, strong: 1 } as const;

/** The meaning of a text, shown as a colour. */
export type Style = keyof typeof STYLES;

/** A part of a line, plain or with a style. */
export type Part = string | { readonly style: Style; readonly text: string };

/** The output of a command. */
export interface Output {
  /** Whether results are JSON. */
  readonly isJson: boolean;
  /** The width of the terminal; infinity if standard output is not a terminal. */
  readonly width: number;
  /** Writes one line of a result. Resolves when it is written, for back-pressure. */
  line(...parts: readonly Part[]): Promise<void>;
  /** The same for several lines. Text from outside must not contain line feeds. */
  lines(text: string): Promise<void>;
  /** The same for one object as JSON. */
  json(value: unknown): Promise<void>;
  /** Writes a line for people. */
  say(text: string): void;
  /** Writes a question, whose answer follows on the same line. */
  ask(question: string): void;
  /** Overwrites the current line of the terminal. */
  replaceLine(text: string): void;
}

/** The reader of standard output has stopped, as in `| head -1`. */
export class ReaderGone extends Error {}

/** Makes the output of this process. */
export function createOutput(isJson: boolean): Output {
  const { stdout, stderr, env } = process;
  // `write` reports failures. Without a listener, they would also end the process.
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

/** As in Node: FORCE_COLOR decides if it is set, then NO_COLOR, then the terminal. */
function hasColours(stdout: NodeJS.WriteStream, env: NodeJS.ProcessEnv): boolean {
  const { FORCE_COLOR, NO_COLOR } = env;
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false;
  return stdout.isTTY && stdout.hasColors();
}

/** Resolves when standard error is written: the end of the process would drop the rest. */
export function flushErrors(): Promise<void> {
  return new Promise((resolve) => {
    process.stderr.write('', () => resolve());
  });
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
  // After EPIPE the stream is destroyed, and later writes fail with this code.
  const isGone = code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED';
  if (isGone) return new ReaderGone('nobody reads the output');
  return new CommandError('store', `Cannot write to standard output: ${code ?? 'unknown error'}.`);
}
