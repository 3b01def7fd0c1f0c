/** Captures the command's output in memory. */
import type { Output } from '../../src/tools/cli/output.js';

/** An output of this width, and everything written to it. */
export function captureOutput(width: number = Number.POSITIVE_INFINITY, isJson = false) {
  const lines: string[] = [];
  const said: string[] = [];
  const output: Output = {
    isJson,
    width,
    line: async (...parts) => {
      lines.push(parts.map((part) => (typeof part === 'string' ? part : part.text)).join(''));
    },
    lines: async (text) => void lines.push(text),
    json: async (value) => void lines.push(JSON.stringify(value)),
    say: (text) => void said.push(text),
    ask: () => {},
    replaceLine: () => {},
  };
  return { output, lines, said };
}
