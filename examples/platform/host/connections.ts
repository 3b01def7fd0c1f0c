/** How long the platform waits for a database server, and how it stops waiting. */
import { Socket } from 'node:net';
import { explain } from '../service/problem.ts';

/** The maximum number of connections in a pool. */
export const MOST_CONNECTIONS = 10;
/** The time that a server has to accept a connection, and to close it. */
export const PATIENCE_MS = 2_000;

/**
 * Waits for a server, and calls `sever` if it does not answer in time. Without that, the wait for a
 * server that accepts connections and never answers would not end.
 *
 * @returns Whether the server answered.
 */
export async function waitPatiently(
  waiting: Promise<unknown>,
  sever: () => void,
): Promise<boolean> {
  let answered = true;
  const timer = setTimeout(() => {
    answered = false;
    sever();
  }, PATIENCE_MS);
  try {
    await waiting;
  } catch (error) {
    if (answered) throw error;
  } finally {
    clearTimeout(timer);
  }
  return answered;
}

export interface OpenSockets {
  make(): Socket;
  /** Destroys all open sockets. */
  sever(): void;
}

/** Makes sockets that can be severed. A driver may leave one open, waiting for the server. */
export function openSockets(): OpenSockets {
  const open = new Set<Socket>();
  return {
    make() {
      const socket = new Socket().setNoDelay(true);
      open.add(socket);
      return socket.once('close', () => open.delete(socket));
    },
    sever() {
      for (const socket of open) socket.destroy();
    },
  };
}

/**
 * Logs the loss of an idle connection. Without a handler, its error would end the process. The next
 * request uses another connection, or gets 503. Drivers keep passwords out of these messages.
 */
export function reportLost(error: Error): void {
  console.error(`The key store lost a connection: ${error.message}`);
}

/** Logs an error of the channel. Until it works again, revoked keys stay cached for their time. */
export function reportChannel(error: unknown): void {
  console.error(`The key store's channel: ${explain(error)}`);
}
