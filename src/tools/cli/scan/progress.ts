/** Says on a terminal how far a scan is. Elsewhere it says nothing. */
import type { Tally } from './scanner.js';

const EVERY_MS = 200;
const CLEAR = '\r\u001b[K';

/** A line that is written over again and again. */
export interface Progress {
  readonly tick: () => void;
  /** Takes the line away, before something else is written. */
  readonly clear: () => void;
}

/** On standard error, if that is a terminal. */
export function createProgress(tally: Tally, stderr: NodeJS.WriteStream): Progress {
  let isShown = false;
  let last = performance.now();
  return {
    tick() {
      if (!stderr.isTTY || performance.now() - last < EVERY_MS) return;
      last = performance.now();
      isShown = true;
      stderr.write(`${CLEAR}${shownTally(tally)}`);
    },
    clear() {
      if (isShown) stderr.write(CLEAR);
      isShown = false;
    },
  };
}

/** Such as `2 found in 1204 texts (12.3 MB)`. */
export function shownTally({ found, texts, bytes, unread }: Tally): string {
  const size = `${(bytes / 1e6).toFixed(1)} MB`;
  const rest = unread === 0 ? '' : `; ${unread} could not be read`;
  return `${found} found in ${texts} ${texts === 1 ? 'text' : 'texts'} (${size})${rest}`;
}
