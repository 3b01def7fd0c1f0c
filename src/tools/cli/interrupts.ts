/** Signals: a change in progress is completed; everything else stops at once. */
import { interruptedBy } from './command-error.js';

/** How the command handles Ctrl-C and signals that end it. */
export interface Interrupts {
  /** Runs a change to its end. Throws without running it if a signal has arrived. */
  change<T>(act: () => PromiseLike<T>): Promise<T>;
  /** Waits for `work`; rejects if a signal arrives while no change is in progress. */
  unless<T>(work: Promise<T>): Promise<T>;
  /** The exit code for a signal that arrived during a change; null without one. */
  exit(): number | null;
}

/** 128 plus the number of the signal, as in shells. */
const SIGNALS: Readonly<Record<string, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

/**
 * Starts listening to signals.
 *
 * @param say Writes a line for people.
 */
export function watchInterrupts(say: (line: string) => void): Interrupts {
  let changing = 0;
  let exit: number | null = null;
  let reject: (error: Error) => void = () => {};
  const interrupted = new Promise<never>((_resolve, refuse) => {
    reject = refuse;
  });
  // Perhaps nothing waits for it yet.
  interrupted.catch(() => {});

  function hear(signal: string): void {
    const isSecond = exit !== null;
    exit = SIGNALS[signal] ?? 1;
    if (changing === 0) {
      reject(interruptedBy(exit));
    } else if (isSecond) {
      say('Stopped. The change may or may not be written. Check with `keyscope list`.');
      process.exit(exit);
    } else {
      say('Finishing the change. Interrupt again to stop without knowing its outcome.');
    }
  }
  for (const signal of Object.keys(SIGNALS)) process.on(signal, hear);

  return {
    async change(act) {
      if (exit !== null) throw interruptedBy(exit);
      changing += 1;
      try {
        return await act();
      } finally {
        changing -= 1;
      }
    },
    unless: (work) => Promise.race([work, interrupted]),
    exit: () => exit,
  };
}
