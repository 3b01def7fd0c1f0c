/** The options for each framework's test app, and what the tests observe. */
import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { StoreError } from 'keyscope';
import type { AdapterSetup, ServedAdapter } from 'keyscope/testing';

export interface Setup extends AdapterSetup {
  readonly onOutage?: (error: StoreError) => void;
}

/** A test's observations of an app, and its wishes for the handlers. */
export interface Spy {
  /** The errors that reached the framework's own error handling. */
  readonly errors: unknown[];
  /** The `Cache-Control` that handlers set, if any. */
  readonly cache?: string | undefined;
}

/** Mounts a guard on the two routes of the contract. */
export type Serve = (setup: Setup, spy: Spy) => ServedAdapter | Promise<ServedAdapter>;

/** A Node server on a free port. */
export async function overHttp(
  listener: RequestListener,
  options: { readonly joinDuplicateHeaders?: boolean } = {},
): Promise<ServedAdapter & { readonly url: string }> {
  const server = createServer(options, listener);
  // Keeps idle connections open on a busy machine: see `listen` in the examples' tests.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  async function close(): Promise<void> {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  return { url: `http://127.0.0.1:${port}`, close };
}

/** All values of the parameter `entity` in a URL. */
export function entitiesOf({ url = '' }: Pick<IncomingMessage, 'url'>): readonly string[] {
  return new URL(url, 'http://localhost').searchParams.getAll('entity');
}
