/** The methods of the command's output. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createOutput, type Output } from '../../../src/tools/cli/output.js';
import { expectPlainLine, HOSTILE_TEXTS } from '../../support/hostile-texts.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

type Write = (output: Output, text: string) => unknown;

const WAYS: Readonly<Record<string, Write>> = {
  line: (output, text) => output.line(text, ' and ', text),
  colour: (output, text) => output.line({ style: 'bad', text }),
  lines: (output, text) => output.lines(text),
  json: (output, text) => output.json({ [text]: text }),
  say: (output, text) => output.say(text),
  ask: (output, text) => output.ask(text),
  replaceLine: (output, text) => output.replaceLine(text),
};

describe('every method of the output', () => {
  // Once, questions and errors of the config reached the terminal unescaped.
  it.each(Object.keys(WAYS))(
    'escapes text that controls a terminal or a CI runner: %s',
    async (way) => {
      vi.stubEnv('FORCE_COLOR', '1');
      const written: string[] = [];
      const write = (text: unknown, ...[done]: readonly unknown[]): boolean => {
        written.push(String(text));
        if (done !== undefined) (done as () => void)();
        return true;
      };
      vi.spyOn(process.stdout, 'write').mockImplementation(write);
      vi.spyOn(process.stderr, 'write').mockImplementation(write);
      for (const text of HOSTILE_TEXTS) await WAYS[way]?.(createOutput(false), text);
      vi.restoreAllMocks();
      expect(written).toHaveLength(HOSTILE_TEXTS.length);
      for (const text of written) {
        // Without our own control characters: colour, cleared line, line feed.
        const plain = text.replace('\u001b[31m', '').replace('\u001b[0m\n', '\n');
        const shown = plain.replace('\r\u001b[K', '').replace(/\n$/, '');
        const lines = way === 'lines' ? shown.split('\n') : [shown];
        for (const line of lines) expectPlainLine(line);
      }
    },
  );
});
