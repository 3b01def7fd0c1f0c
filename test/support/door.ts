/**
 * A door in front of a server that can be shut: then nobody comes in, and who is in is thrown out.
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
  set(to: 'open' | 'shut'): void;
  close(): void;
}

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

  function throwOut(): void {
    for (const socket of sockets) socket.destroy();
  }

  const server = createServer((inner) => {
    const outer = connect(port, host);
    tie(inner, outer);
    tie(outer, inner);
    if (shut) inner.destroy();
    else inner.pipe(outer).pipe(inner);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    port: (server.address() as AddressInfo).port,
    set(to) {
      shut = to === 'shut';
      if (shut) throwOut();
    },
    close() {
      throwOut();
      server.close();
    },
  };
}
