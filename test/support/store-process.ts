/** Runs `store-child.ts` processes, each on a store. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** A key that was handed out. */
export interface Handed {
  readonly keyId: string;
  readonly key: string;
}

export function isHanded(answer: unknown): answer is Handed {
  return typeof answer === 'object' && answer !== null && 'key' in answer;
}

/** The answer to a revocation, a rotation or a mark: when its write began and ended. */
interface Timed {
  readonly revoked?: true;
  /** For a mark only: whether it was written. */
  readonly wrote?: boolean;
  readonly from?: number;
  readonly to?: number;
}

/** The times in an answer, if there are any. */
export function timesOf(answer: unknown): Timed {
  return typeof answer === 'object' && answer !== null ? answer : {};
}

export interface Child {
  /**
   * Sends a task at once, even if others are running. Resolves with `null` if the process ends
   * before it answers.
   */
  ask(task: string, ...given: readonly unknown[]): Promise<unknown>;
  /** Called with each announced moment and the count so far. */
  onMoment: (moment: string, count: number) => void;
  /** Resolves once the process has opened its store. Rejects if it ends first. */
  readonly ready: Promise<unknown>;
  /** Resolves once it has ended. */
  readonly gone: Promise<unknown>;
  /** The announcements since they were requested. */
  readonly heard: readonly string[];
  /** Sends `kill -9` and waits until the process is gone. */
  kill(): Promise<void>;
  /** Lets it finish its work and close its store. */
  stop(): Promise<void>;
}

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Node's arguments for running the unmodified source. */
export const NODE_ARGUMENTS: readonly string[] = [
  '--disable-warning=ExperimentalWarning',
  '--import',
  path('typescript.ts'),
];

/** A line of output: an answer with the number of its task, or an announcement. */
type Line =
  | readonly [id: number, answer: unknown]
  | readonly [id: null, what: string, moment: string];

function spawnChild(address: string | undefined) {
  const given = address === undefined ? [] : [address];
  const argv = [...NODE_ARGUMENTS, path('store-child.ts'), ...given];
  const child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
  // Input for a killed process is lost, as it should be.
  child.stdin.on('error', () => {});
  return child;
}

/** Starts a process, with or without a store. */
export function startChild(address?: string): Child {
  const child = spawnChild(address);
  const gone = once(child, 'close') as Promise<[code: number | null, signal: string | null]>;
  const answers = new Answers();
  const heard: string[] = [];
  const opened = new Opened();
  const self: Child = {
    ask(task, ...args) {
      const { id, answer } = answers.expect();
      child.stdin.write(`${JSON.stringify([id, task, ...args])}\n`);
      return answer;
    },
    onMoment: () => {},
    ready: opened.unless(gone),
    gone,
    heard,
    async kill() {
      child.kill('SIGKILL');
      const [, signal] = await gone;
      assert.equal(signal, 'SIGKILL', 'the process ended before it was killed');
    },
    async stop() {
      child.stdin.end();
      const [code] = await gone;
      assert.equal(code, 0, 'the process failed');
    },
  };

  function hear(line: Line): void {
    if (line[0] !== null) {
      answers.settle(line[0], line[1]);
    } else if (line[2] === 'ready') {
      opened.resolve();
    } else {
      const moment = `${line[1]} ${line[2]}`;
      const count = heard.push(moment);
      self.onMoment(moment, count);
    }
  }
  void listen(child.stdout, hear).then(() => answers.end());
  return self;
}

async function listen(out: Readable, hear: (line: Line) => void): Promise<void> {
  for await (const line of createInterface({ input: out })) hear(JSON.parse(line) as Line);
}

/** Whether the process has opened its store. */
class Opened {
  readonly resolve: () => void;
  readonly #promise: Promise<void>;

  constructor() {
    let resolve = () => {};
    this.#promise = new Promise((done) => {
      resolve = done;
    });
    this.resolve = resolve;
  }

  /** Rejects if the process ends first. */
  unless(gone: Promise<unknown>): Promise<void> {
    const failed = gone.then(() => {
      throw new Error('the process ended before it was ready');
    });
    const ready = Promise.race([this.#promise, failed]);
    // A test that kills the process does not wait for this.
    ready.catch(() => {});
    return ready;
  }
}

/** The tasks that have not been answered. */
class Answers {
  readonly #waiting = new Map<number, (answer: unknown) => void>();
  #tasks = 0;
  #isOver = false;

  expect(): { readonly id: number; readonly answer: Promise<unknown> } {
    const id = this.#tasks;
    this.#tasks += 1;
    if (this.#isOver) return { id, answer: Promise.reject(new Error('the process has ended')) };
    const answer = new Promise<unknown>((resolve) => this.#waiting.set(id, resolve));
    return { id, answer };
  }

  settle(id: number, answer: unknown): void {
    this.#waiting.get(id)?.(answer);
    this.#waiting.delete(id);
  }

  /** No more answers will come. */
  end(): void {
    this.#isOver = true;
    for (const resolve of this.#waiting.values()) resolve(null);
  }
}

/** One process per kill. Each starts while the one before is at work. */
export function* spareChildren(count: number, address?: string): Generator<[number, Child]> {
  let next = startChild(address);
  for (let i = 0; i < count; i++) {
    const child = next;
    if (i + 1 < count) next = startChild(address);
    yield [i, child];
  }
}
