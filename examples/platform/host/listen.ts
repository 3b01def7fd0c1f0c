/** How the example servers open and close a port, and what they tell whoever started them. */
import type { Server } from 'node:http';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { createServer } from 'node:net';
import { explain } from '../service/problem.ts';
import { endResponses } from './open-responses.ts';

/**
 * Listens only on this machine. Rejects if the port is taken.
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

/** Reserves a free port for a server that is yet to be made, with its own address. */
export async function holdPort(): Promise<HeldPort> {
  const holder = createServer();
  const url = await listen(holder, 0);
  return { holder, origin: new URL(url).origin };
}

/** How long requests in flight may take to finish once the server is to stop. */
const GRACE_MS = 5_000;

/**
 * Accepts no more connections, ends streams, and lets requests in flight finish, for a while; each
 * connection ends with its answer. By itself, Node would wait forever: once a server is closing, it
 * no longer times out a client that has connected and says nothing, or half of a request.
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

/** Runs it at the first signal. The second ends the process at once, as any does by itself. */
export function atFirstSignal(run: () => Promise<void>): void {
  const begin = (): void => {
    for (const signal of SIGNALS) process.removeListener(signal, begin);
    void run();
  };
  for (const signal of SIGNALS) process.once(signal, begin);
}

/** The port that the environment names. @throws RangeError if it names none. */
export function readPort(standard: number): number {
  const { PORT } = process.env;
  const port = Number(PORT || standard);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new RangeError('PORT is a whole number from 0 to 65535; 0 is any that is free');
}

/** Says in a sentence why a server could not start. */
export function whyNot(error: unknown): string {
  const isObject = typeof error === 'object' && error !== null;
  if (!isObject || !('code' in error) || !('port' in error)) return explain(error);
  if (error.code !== 'EADDRINUSE') return explain(error);
  return `Port ${error.port} is taken. Set PORT to another one, or to 0 for any that is free`;
}
