/** A server behind a proxy, for accidents of the network. */
import { type Address, openTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import type { Ways } from './stream.ts';

/** Two processes' connections to a server, and a function that closes them. */
export interface Visit extends Ways {
  close(): Promise<unknown>;
}

/** A running server that processes can connect to. */
export interface Host {
  readonly address: Address;
  /** Connects both processes through a port of this machine that leads to the server. */
  visit(port: number): Promise<Visit>;
  /** Removes what was created there. */
  remove(): Promise<unknown>;
}

/** Two processes' connections to a server through a proxy. */
export interface Place extends Ways {
  readonly proxy: TcpProxy;
  close(): Promise<void>;
}

export async function openPlace({ address, visit, remove }: Host): Promise<Place> {
  const proxy = await openTcpProxy(address);
  const { managing, guarding, close } = await visit(proxy.port);
  return {
    managing,
    guarding,
    proxy,
    async close() {
      // First, so that nothing waits for lost data.
      await proxy.close();
      await close();
      await remove();
    },
  };
}
