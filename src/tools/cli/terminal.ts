/** Asks questions on the terminal, and reads standard input. */
import { createInterface } from 'node:readline';
import { CommandError, interruptedBy, usageError } from './command-error.js';
import type { Output } from './output.js';

/** Standard input, and the terminal if there is one. */
export interface Terminal {
  /** Whether standard input and standard error are terminals, so that questions work. */
  readonly isThere: boolean;
  /**
   * Asks for confirmation. Throws if the answer is no, or without a terminal.
   *
   * @param isSure Whether `--yes` is set, which skips the question.
   */
  confirm(question: string, isSure: boolean): Promise<void>;
  /** Asks for a line; an empty answer means the default. */
  ask(question: string, byDefault: string): Promise<string>;
  /** Reads the first line of standard input; without echo on a terminal. */
  readSecret(question: string): Promise<string>;
}

/** Longer than any key. */
const MAX_LENGTH = 16_384;

/** The terminal of this process. */
export function openTerminal(output: Output): Terminal {
  const { stdin, stderr } = process;
  const isThere = stdin.isTTY && stderr.isTTY;
  return {
    isThere,
    async confirm(question, isSure) {
      if (isSure) return;
      if (!isThere) {
        throw usageError(
          'Cannot ask for confirmation without a terminal. Add --yes if you are sure.',
        );
      }
      const answer = await askForLine(`${question} [y/N] `, output);
      if (!/^y(?:es)?$/i.test(answer)) throw new CommandError('refused', 'Nothing was changed.');
    },
    async ask(question, byDefault) {
      const answer = await askForLine(`${question} [${byDefault}] `, output);
      return answer === '' ? byDefault : answer;
    },
    async readSecret(question) {
      const text = stdin.isTTY ? await readHidden(question, output) : await readFirstLine();
      if (text === '') throw usageError('Standard input is empty. Pipe the key into it.');
      return text;
    },
  };
}

/** Resolves to an empty text at the end of the input. Ctrl-C is a signal, as usual. */
function askForLine(question: string, output: Output): Promise<string> {
  output.ask(question);
  const lines = createInterface({ input: process.stdin, terminal: false });
  return new Promise((resolve) => {
    lines.once('line', (line) => {
      resolve(line.trim());
      lines.close();
    });
    lines.once('close', () => resolve(''));
  });
}

async function readFirstLine(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += String(chunk);
    if (text.includes('\n') || text.length > MAX_LENGTH) break;
  }
  return text.split('\n')[0]?.trim() ?? '';
}

// The control characters of a terminal in raw mode.
const ENTER = '\r\n\u0004';
const BACKSPACE = '\b\u007f';
const CTRL_C = '\u0003';

function readHidden(question: string, output: Output): Promise<string> {
  const { stdin } = process;
  // Raw mode turns off echo and signals. Set it before the question, because people answer at once.
  stdin.setRawMode(true).setEncoding('utf8');
  output.ask(question);
  return new Promise((resolve, reject) => {
    let text = '';
    function end(settle: () => void): void {
      stdin.off('data', hear).setRawMode(false).pause();
      output.say('');
      settle();
    }
    function hear(typed: string): void {
      for (const character of typed) {
        if (character === CTRL_C) end(() => reject(interruptedBy(130)));
        else if (ENTER.includes(character)) end(() => resolve(text.trim()));
        else text = BACKSPACE.includes(character) ? text.slice(0, -1) : text + character;
      }
    }
    stdin.on('data', hear).resume();
  });
}
