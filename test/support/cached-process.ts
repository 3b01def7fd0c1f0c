/** Starts child processes that verify keys and jobs' tokens through a cache: `cached-child.ts`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { CI } from './keyless.ts';
import { NODE_ARGUMENTS } from './store-process.ts';

const CHILD = fileURLToPath(new URL('cached-child.ts', import.meta.url));

export interface CachedProcess {
  /** Returns its next message. */
  hear(): Promise<unknown>;
  /** Gives it a key, or a token that {@link CI} signed, to watch. */
  send(credential: string): void;
  stop(): Promise<void>;
}

/** Starts it over a store, with or without the channel of that store. */
export function startCached(
  address: string,
  maxStalenessMs: number,
  channel: 'up' | 'down',
): CachedProcess {
  const args = [address, String(maxStalenessMs), channel, JSON.stringify(CI.publicKey)];
  const argv = [...NODE_ARGUMENTS, CHILD, ...args];
  const child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
  const said = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async hear() {
      const { value }: { readonly value?: unknown } = await said.next();
      return JSON.parse(String(value)) as unknown;
    },
    send: (credential) => void child.stdin.write(`${credential}\n`),
    async stop() {
      child.stdin.end();
      await once(child, 'close');
    },
  };
}
