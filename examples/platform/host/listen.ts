/** Opens and closes the port of the example servers, and explains why one cannot start. */
import type { Server } from 'node:http';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { createServer } from 'node:net';
import { explain } from '../service/problem.ts';
import { endResponses } from './open-responses.ts';

/**
 * Listens on this machine only. Rejects if the port is in use.
 *
 * @param at A port, or the server that holds one: see {@link holdPort}.
 * @returns The base URL.
 */
export async function listen(server: NetServer, at: number | NetServer): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    if (typeof at === 'number') server.listen(at, '127.0.0.1', resolve);
    else server.listen(at, resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

export interface HeldPort {
  readonly holder: NetServer;
  readonly origin: string;
}

/** Reserves a free port for a server that does not exist yet and needs to know its address. */
export async function holdPort(): Promise<HeldPort> {
  const holder = createServer();
  const url = await listen(holder, 0);
  return { holder, origin: new URL(url).origin };
}

/** When the server stops, requests in flight have this long to finish. */
const GRACE_MS = 5_000;

/**
 * Accepts no more connections, ends streams, and gives requests in flight some time to finish. Each
 * connection ends with its answer. Node alone would wait forever: it does not time out a silent
 * client or half a request on a server that is closing.
 */
export function stop(server: Server, graceMs: number = GRACE_MS): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    endResponses(server);
  });
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Calls `run` at the first signal. The second one ends the process at once. */
export function atFirstSignal(run: () => Promise<void>): void {
  const begin = (): void => {
    for (const signal of SIGNALS) process.removeListener(signal, begin);
    void run();
  };
  for (const signal of SIGNALS) process.once(signal, begin);
}

/** Returns the port from the environment. @throws RangeError if it is not a port. */
export function readPort(standard: number): number {
  const { PORT } = process.env;
  const port = Number(PORT || standard);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new RangeError('PORT is not valid. Set it to a number from 0 to 65535; 0 is any free port');
}

/** Returns a sentence that says why a server could not start. */
export function whyNot(error: unknown): string {
  const isObject = typeof error === 'object' && error !== null;
  if (!isObject || !('code' in error) || !('port' in error)) return explain(error);
  if (error.code !== 'EADDRINUSE') return explain(error);
  return `Port ${error.port} is in use. Set PORT to another one, or to 0 for any free port`;
}
