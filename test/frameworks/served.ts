/** What each framework's app of these tests is made from, and what its tests may ask of it. */
import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { StoreError } from 'keyscope';
import type { AdapterSetup, ServedAdapter } from 'keyscope/testing';

export interface Setup extends AdapterSetup {
  readonly onOutage?: (error: StoreError) => void;
}

/** What a test learns of an app, and asks of its handlers. */
export interface Spy {
  /** What reached the framework's own error handling. */
  readonly errors: unknown[];
  /** What handlers write into `Cache-Control`, if anything. */
  readonly cache?: string | undefined;
}

/** Mounts a guard on the two routes of the contract. */
export type Serve = (setup: Setup, spy: Spy) => ServedAdapter | Promise<ServedAdapter>;

/** A server of Node's on a free port. */
export async function overHttp(
  listener: RequestListener,
  options: { readonly joinDuplicateHeaders?: boolean } = {},
): Promise<ServedAdapter & { readonly url: string }> {
  const server = createServer(options, listener);
  // No reset of an idle connection on a busy machine: see `listen` of the examples' tests.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  async function close(): Promise<void> {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  return { url: `http://127.0.0.1:${port}`, close };
}

/** All values of the parameter `entity`, from whatever has a URL. */
export function entitiesOf({ url = '' }: Pick<IncomingMessage, 'url'>): readonly string[] {
  return new URL(url, 'http://localhost').searchParams.getAll('entity');
}
