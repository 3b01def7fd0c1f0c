/**
 * A door in front of a server that can be shut, or gone: then nobody comes in, and who is in is
 * thrown out.
 */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

/** Where the server is. */
interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Door {
  readonly port: number;
  /** `shut`: whoever comes is thrown out. `gone`: nothing listens at its port. */
  set(to: 'open' | 'shut' | 'gone'): Promise<void>;
}

/** Opens a door at a free port. When a test is over the door should be gone. */
export async function openDoor({ host, port }: Address): Promise<Door> {
  const sockets = new Set<Socket>();
  let shut = false;

  /** Ends with the other one. */
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
