/** Shows how far long work is, on a terminal. */
import type { Output } from './output.js';

/** One line on standard error, which the next output replaces. */
export interface Progress {
  /** Shows a text; at most five times a second, and only on a terminal. */
  show(text: string): void;
  /** Removes the line, before other output. */
  clear(): void;
}

const EVERY_MS = 200;

/** Starts with nothing shown. */
export function createProgress(output: Output): Progress {
  const { stderr } = process;
  let isShown = false;
  let last = performance.now();
  return {
    show(text) {
      if (!stderr.isTTY || performance.now() - last < EVERY_MS) return;
      last = performance.now();
      isShown = true;
      output.replaceLine(text);
    },
    clear() {
      if (isShown) output.replaceLine('');
      isShown = false;
    },
  };
}

/** Shows a text and the seconds since the start, until `work` settles. */
export async function whileShowing<T>(output: Output, text: string, work: Promise<T>): Promise<T> {
  const progress = createProgress(output);
  const begun = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - begun) / 1_000);
    progress.show(`${text} (${seconds} s)`);
  }, 1_000);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    progress.clear();
  }
}
