/**
 * A door in front of a server, which a test can shut or remove. Then it ends all connections and
 * accepts none.
 */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

/** The address of the server. */
interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Door {
  readonly port: number;
  /** `shut`: ends each new connection. `gone`: nothing listens at its port. */
  set(to: 'open' | 'shut' | 'gone'): Promise<void>;
}

/** Opens a door at a free port. A test should set it to `gone` when it is over. */
export async function openDoor({ host, port }: Address): Promise<Door> {
  const sockets = new Set<Socket>();
  let shut = false;

  /** Ends one socket with the other. */
  function tie(socket: Socket, other: Socket): void {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
  }

  const server = createServer((inner) => {
    const outer = connect(port, host);
    tie(inner, outer);
    tie(outer, inner);
    if (shut) inner.destroy();
    else inner.pipe(outer).pipe(inner);
  });

  async function listen(at: number): Promise<void> {
    server.listen(at, '127.0.0.1');
    await once(server, 'listening');
  }

  function throwOut(): void {
    for (const socket of sockets) socket.destroy();
  }

  async function leave(): Promise<void> {
    const closed = once(server, 'close');
    server.close();
    throwOut();
    await closed;
  }

  await listen(0);
  const own = (server.address() as AddressInfo).port;

  return {
    port: own,
    async set(to) {
      shut = to === 'shut';
      if (shut) throwOut();
      if (to === 'gone' && server.listening) await leave();
      if (to !== 'gone' && !server.listening) await listen(own);
    },
  };
}
