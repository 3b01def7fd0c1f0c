/** Questions to whoever sits at the terminal, and what standard input has where nobody does. */
import { createInterface } from 'node:readline';
import { CommandError, interruptedBy, usageError } from './command-error.js';
import type { Output } from './output.js';

/** Standard input, and the terminal if there is one. */
export interface Terminal {
  /** Whether somebody can be asked: standard input and standard error are terminals. */
  readonly isThere: boolean;
  /**
   * Asks before something ends. Without a terminal it is refused.
   *
   * @param isSure Whether `--yes` was written: then nothing is asked.
   */
  confirm(question: string, isSure: boolean): Promise<void>;
  /** Asks for a line, with an answer to take by default. */
  ask(question: string, byDefault: string): Promise<string>;
  /** Reads a secret: the first line of standard input, from a terminal without echo. */
  readSecret(question: string): Promise<string>;
}

/** More than any line that is meant. */
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
        throw usageError('Without a terminal nobody can be asked: write --yes if you are sure.');
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
      if (text === '') throw usageError('Standard input has no key.');
      return text;
    },
  };
}

/** An empty text at the end of the input. Ctrl-C is a signal, as anywhere. */
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

/** What each character does where it is no part of what is typed. */
const ENTER = '\r\n\u0004';
const BACKSPACE = '\b\u007f';
const CTRL_C = '\u0003';

function readHidden(question: string, output: Output): Promise<string> {
  const { stdin } = process;
  // A terminal in raw mode shows nothing, and makes no signals. Before the question, which people
  // answer at once.
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
