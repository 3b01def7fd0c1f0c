/**
 * A proxy in front of a server that can be shut or removed. Then new connections fail and existing
 * ones are cut.
 */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

/** The server's address. */
interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Door {
  readonly port: number;
  /** `shut`: disconnects everyone who connects. `gone`: nothing listens on the port. */
  set(to: 'open' | 'shut' | 'gone'): Promise<void>;
}

/** Opens a door on a free port. Set it to `gone` at the end of a test. */
export async function openDoor({ host, port }: Address): Promise<Door> {
  const sockets = new Set<Socket>();
  let shut = false;

  /** Destroys this socket when the other one closes. */
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
