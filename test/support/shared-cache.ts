/**
 * A cache that several callers share, in front of a server, as CDNs and reverse proxies have one
 * (RFC 9111).
 */
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:http';
import CachePolicy from 'http-cache-semantics';
import { close, listen } from '../http/harness.ts';

export interface CacheOptions {
  /**
   * As nginx can be told to, and some are: keeps answers to requests with a credential too, where
   * RFC 9111 §3.5 wants a `public`, and for an hour those that say nothing of caching.
   */
  readonly credulous: boolean;
  /** What it reads in place of the `Cache-Control` of an answer that says `no-store`. */
  readonly insteadOfNoStore?: string;
}

export interface SharedCache {
  readonly origin: string;
  /** How many requests were answered without the server. */
  hits(): number;
  stop(): Promise<void>;
}

interface Kept {
  readonly policy: CachePolicy;
  readonly status: number;
  readonly body: Buffer;
}

export async function startCache(
  serverPort: number,
  { credulous, insteadOfNoStore = 'no-store' }: CacheOptions,
): Promise<SharedCache> {
  const kept = new Map<string, Kept>();
  let hits = 0;

  // The body of the request is not passed on: a cache is about GET.
  async function answer(req: IncomingMessage): Promise<Kept> {
    const { url = '', method = '', headers } = req;
    const { authorization, ...others } = headers;
    const asked = { url, method, headers: credulous ? others : headers };
    const found = kept.get(url);
    if (found?.policy.satisfiesWithoutRevalidation(asked)) {
      hits += 1;
      return found;
    }
    const response = await fetch(`http://127.0.0.1:${serverPort}${url}`, {
      method,
      headers: {
        ...(authorization && { authorization }),
        ...(headers.cookie && { cookie: headers.cookie }),
      },
      redirect: 'manual',
    });
    const said = response.headers.get('cache-control') ?? (credulous ? 'max-age=3600' : '');
    const heard = {
      ...Object.fromEntries(response.headers),
      'cache-control': said.replace('no-store', insteadOfNoStore),
    };
    const policy = new CachePolicy(
      asked,
      { status: response.status, headers: heard },
      { shared: true },
    );
    const made = {
      policy,
      status: response.status,
      body: Buffer.from(await response.arrayBuffer()),
    };
    if (policy.storable()) kept.set(url, made);
    return made;
  }

  const server = createServer((req, res) => {
    answer(req).then(
      ({ policy, status, body }) => res.writeHead(status, policy.responseHeaders()).end(body),
      (error) => res.destroy(error),
    );
  });
  const port = await listen(server);
  return { origin: `http://127.0.0.1:${port}`, hits: () => hits, stop: () => close(server) };
}
