/** A shared cache in front of a server, like a CDN or reverse proxy (RFC 9111). */
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:http';
import CachePolicy from 'http-cache-semantics';
import { close, listen } from '../examples/http-harness.ts';

export interface CacheOptions {
  /**
   * A careless cache, as nginx can be configured: it also stores answers to requests with a
   * credential, although RFC 9111 §3.5 requires `public`, and stores answers without cache headers
   * for an hour.
   */
  readonly credulous: boolean;
  /** Overrides the `Cache-Control` of answers that say `no-store`. */
  readonly insteadOfNoStore?: string;
}

export interface SharedCache {
  readonly origin: string;
  /** The number of requests answered without the server. */
  hits(): number;
  stop(): Promise<void>;
}

interface Kept {
  readonly policy: CachePolicy;
  readonly status: number;
  readonly body: Buffer;
}

/** The parts of a request that caching rules look at. */
function readAsked({ url = '', method = '', headers }: IncomingMessage, credulous: boolean) {
  if (!credulous) return { url, method, headers };
  const { authorization: _unseen, ...others } = headers;
  return { url, method, headers: others };
}

/** Forwards a request without its body: only GET is cached. */
function ask(serverPort: number, { url = '', method = '', headers }: IncomingMessage) {
  const { authorization, cookie } = headers;
  return fetch(`http://127.0.0.1:${serverPort}${url}`, {
    method,
    headers: { ...(authorization && { authorization }), ...(cookie && { cookie }) },
    redirect: 'manual',
  });
}

export async function startCache(serverPort: number, options: CacheOptions): Promise<SharedCache> {
  const { credulous, insteadOfNoStore = 'no-store' } = options;
  const kept = new Map<string, Kept>();
  let hits = 0;

  function policyOf(req: IncomingMessage, { status, headers }: Response): CachePolicy {
    const said = headers.get('cache-control') ?? (credulous ? 'max-age=3600' : '');
    const heard = {
      ...Object.fromEntries(headers),
      'cache-control': said.replace('no-store', insteadOfNoStore),
    };
    const asked = readAsked(req, credulous);
    return new CachePolicy(asked, { status, headers: heard }, { shared: true });
  }

  async function answer(req: IncomingMessage): Promise<Kept> {
    const { url = '' } = req;
    const found = kept.get(url);
    if (found?.policy.satisfiesWithoutRevalidation(readAsked(req, credulous))) {
      hits += 1;
      return found;
    }
    const response = await ask(serverPort, req);
    const body = Buffer.from(await response.arrayBuffer());
    const made: Kept = { policy: policyOf(req, response), status: response.status, body };
    if (made.policy.storable()) kept.set(url, made);
    return made;
  }

  const server = createServer((req, res) => {
    answer(req).then(
      ({ policy, status, body }) => res.writeHead(status, policy.responseHeaders()).end(body),
      (error: Error) => res.destroy(error),
    );
  });
  const port = await listen(server);
  return { origin: `http://127.0.0.1:${port}`, hits: () => hits, stop: () => close(server) };
}
