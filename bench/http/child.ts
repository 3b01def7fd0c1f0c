/** A process beside this one that answers messages, one at a time: both of its ends. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

export interface Child<Ready, Question, Answer> {
  readonly process: ChildProcess;
  readonly ready: Ready;
  /** Fails where the process ends instead of answering; it has written why. */
  readonly ask: (question: Question) => Promise<Answer>;
}

/** What a process says when it has started: that it is ready, or what is not installed. */
type FirstMessage<Ready> = { readonly ready: Ready } | { readonly missing: string };

/** What the other end does. */
interface Opened<Ready, Question, Answer> {
  readonly ready: Ready;
  readonly answer: (question: Question) => Answer | Promise<Answer>;
}

/**
 * Starts `file` of this folder, or says that a library it needs is not installed and returns null.
 */
export async function startChild<Ready, Question, Answer>(
  file: string,
  ...args: string[]
): Promise<Child<Ready, Question, Answer> | null> {
  const name = [file, ...args].join(' ');
  const child = fork(new URL(file, import.meta.url), args);
  const gone = once(child, 'exit').then(() =>
    Promise.reject(new Error(`${name}: its process ended`)),
  );
  gone.catch(() => {});
  async function answer(): Promise<unknown> {
    const [message] = await Promise.race([once(child, 'message') as Promise<[unknown]>, gone]);
    return message;
  }

  const first = (await answer()) as FirstMessage<Ready>;
  if ('missing' in first) {
    console.log(`skipped ${name}: ${first.missing}`);
    child.disconnect();
    return null;
  }
  async function ask(question: Question): Promise<Answer> {
    child.send(question as object);
    return (await answer()) as Answer;
  }
  return { process: child, ready: first.ready, ask };
}

/** The other end: makes ready, says so, then answers until the parent is gone. */
export async function answerParent<Ready, Question, Answer>(
  open: () => Promise<Opened<Ready, Question, Answer>>,
): Promise<void> {
  process.on('disconnect', () => process.exit());
  try {
    const { ready, answer } = await open();
    process.on('message', async (question: Question) => process.send?.(await answer(question)));
    process.send?.({ ready });
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message: string };
    if (code !== 'ERR_MODULE_NOT_FOUND') throw error;
    process.send?.({ missing: message.split('\n')[0] });
  }
}
