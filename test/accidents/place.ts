/** A server behind a proxy, for accidents of the network. */
import { type Address, openTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import type { Ways } from './stream.ts';

/** The connections of two processes to a server, and how to close them. */
export interface Visit extends Ways {
  close(): Promise<unknown>;
}

/** A server that already runs. */
export interface Host {
  readonly address: Address;
  /** Connects both processes through a port of this machine that leads to the server. */
  visit(port: number): Promise<Visit>;
  /** Removes what was created there. */
  remove(): Promise<unknown>;
}

/** The stores of both processes, through a proxy. */
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
      // First, so that nothing waits for data that is lost.
      await proxy.close();
      await close();
      await remove();
    },
  };
}
