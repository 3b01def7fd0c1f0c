/** How long the platform waits for a database server, and how it stops waiting. */
import { Socket } from 'node:net';
import { explain } from '../service/problem.ts';

/** At most this many connections in a pool. */
export const MOST_CONNECTIONS = 10;
/** How long to wait for a server to accept a connection, and to close it. */
export const PATIENCE_MS = 2_000;

/**
 * Without this, a server that accepts connections but never answers would be waited for forever:
 * `sever` ends the wait.
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
  /** Ends all that are open. */
  sever(): void;
}

/**
 * Sockets that can be severed: a driver may end but leave one open, waiting for the server's last
 * word.
 */
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
 * A lost idle connection tells nobody who is waiting; unhandled, its error ends the process. The
 * next request is answered by another connection, or with 503. Drivers keep passwords out of these
 * messages.
 */
export function reportLost(error: Error): void {
  console.error(`The key store lost a connection: ${error.message}`);
}

/** Until the channel works again, a key that another process revoked stays cached for its time. */
export function reportChannel(error: unknown): void {
  console.error(`The key store's channel: ${explain(error)}`);
}
