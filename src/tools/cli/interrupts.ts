/** Signals: what is being changed is finished, everything else ends at once. */
import { interruptedBy } from './command-error.js';

/** What the command does about Ctrl-C, and about being told to end. */
export interface Interrupts {
  /** Carries out what changes something. It begins only if no signal came, and is waited for. */
  change<T>(act: () => PromiseLike<T>): Promise<T>;
  /** Waits for a piece of work, or until a signal comes while nothing is being changed. */
  unless<T>(work: Promise<T>): Promise<T>;
  /** What to exit with because of a signal that came during a change; null without one. */
  exit(): number | null;
}

/** 128 and the number of the signal, as shells have it. */
const SIGNALS: Readonly<Record<string, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

/**
 * Listens to signals from now on.
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
  // Nobody may be waiting.
  interrupted.catch(() => {});

  function hear(signal: string): void {
    const isSecond = exit !== null;
    exit = SIGNALS[signal] ?? 1;
    if (changing === 0) {
      reject(interruptedBy(exit));
    } else if (isSecond) {
      say('Stopped. It is unknown whether the change was written: look with keyscope list.');
      process.exit(exit);
    } else {
      say('The change has begun and is being finished. Again to stop without knowing.');
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
