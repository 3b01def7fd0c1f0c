/** A server behind a proxy, for what happens on the way to it. */
import { type Address, openTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import type { Ways } from './stream.ts';

/** How two processes come to a server, and the end of it. */
export interface Visit extends Ways {
  close(): Promise<unknown>;
}

/** A server that runs already, and what is connected to it. */
export interface Host {
  readonly address: Address;
  /** Connects both processes by a port of this machine, which leads to the server. */
  visit(port: number): Promise<Visit>;
  /** Removes what was made there. */
  remove(): Promise<unknown>;
}

/** The ways to a server through a proxy. */
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
      // First, so that nobody waits for what is lost.
      await proxy.close();
      await close();
      await remove();
    },
  };
}
