/** A process beside this one that answers messages, one at a time: both of its ends. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

export interface Child<Ready, Question, Answer> {
  readonly process: ChildProcess;
  readonly ready: Ready;
  /** Fails where the process ends instead of answering; it has written why. */
  readonly ask: (question: Question) => Promise<Answer>;
}

/**
 * Starts `file` of this folder, or says that a library it needs is not installed and returns null.
 */
export async function start<Ready, Question, Answer>(
  file: string,
  ...args: string[]
): Promise<Child<Ready, Question, Answer> | null> {
  const name = [file, ...args].join(' ');
  const child = fork(new URL(file, import.meta.url), args);
  const gone = once(child, 'exit').then(() =>
    Promise.reject(new Error(`${name}: its process ended`)),
  );
  gone.catch(() => {});
  const answer = async () => (await Promise.race([once(child, 'message'), gone]))[0];
  const { ready, missing } = await answer();
  if (missing === undefined) {
    const ask = (question: Question): Promise<Answer> => {
      child.send(question as object);
      return answer();
    };
    return { process: child, ready, ask };
  }
  console.log(`skipped ${name}: ${missing}`);
  child.disconnect();
  return null;
}

/** The other end: makes ready, says so, then answers until the parent is gone. */
export async function answerParent<Ready, Question, Answer>(
  open: () => Promise<{
    readonly ready: Ready;
    readonly answer: (question: Question) => Answer | Promise<Answer>;
  }>,
): Promise<void> {
  process.on('disconnect', () => process.exit());
  try {
    const { ready, answer } = await open();
    process.on('message', async (question: Question) => process.send?.(await answer(question)));
    process.send?.({ ready });
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    process.send?.({ missing: (error as Error).message.split('\n')[0] });
  }
}
