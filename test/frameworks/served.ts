/** The types that the apps of these tests share, and their helpers. */
import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { StoreError } from 'keyscope';
import type { AdapterSetup, ServedAdapter } from 'keyscope/testing';

export interface Setup extends AdapterSetup {
  readonly onError?: (error: StoreError) => void;
}

/** The settings of an app that a test makes, and the errors that it observes. */
export interface Spy {
  /** The errors that reached the framework's own error handling. */
  readonly errors: unknown[];
  /** The `Cache-Control` that handlers set, if any. */
  readonly cache?: string | undefined;
}

/** Mounts a guard on the two routes of the contract. */
export type Serve = (setup: Setup, spy: Spy) => ServedAdapter | Promise<ServedAdapter>;

/** Starts a Node server on a free port. */
export async function overHttp(
  listener: RequestListener,
  options: { readonly joinDuplicateHeaders?: boolean } = {},
): Promise<ServedAdapter & { readonly url: string }> {
  const server = createServer(options, listener);
  // Avoids resets of idle connections on a busy machine: see `listen` of the examples' tests.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  async function close(): Promise<void> {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  return { url: `http://127.0.0.1:${port}`, close };
}

/** Returns all values of the parameter `entity` in a URL. */
export function entitiesOf({ url = '' }: Pick<IncomingMessage, 'url'>): readonly string[] {
  return new URL(url, 'http://localhost').searchParams.getAll('entity');
}
