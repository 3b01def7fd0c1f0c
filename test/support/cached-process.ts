/** A child process that verifies keys through a cache: `cached-child.ts`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { NODE_ARGUMENTS } from './store-process.ts';

const CHILD = fileURLToPath(new URL('cached-child.ts', import.meta.url));

export interface CachedProcess {
  /** Resolves with its next message. */
  hear(): Promise<unknown>;
  /** Sends it a key to watch. */
  send(key: string): void;
  stop(): Promise<void>;
}

/** Starts it over a store, with or without that store's channel. */
export function startCached(
  address: string,
  maxStalenessMs: number,
  channel: 'up' | 'down',
): CachedProcess {
  const argv = [...NODE_ARGUMENTS, CHILD, address, String(maxStalenessMs), channel];
  const child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
  const said = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async hear() {
      const { value }: { readonly value?: unknown } = await said.next();
      return JSON.parse(String(value)) as unknown;
    },
    send: (key) => void child.stdin.write(`${key}\n`),
    async stop() {
      child.stdin.end();
      await once(child, 'close');
    },
  };
}
