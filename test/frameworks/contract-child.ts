/**
 * Child process that runs the contract on the built package: `contract-child.ts <where>`. Prints
 * the result of each test: null, or the error.
 */
import type { ServedAdapter } from 'keyscope/testing';
import { adapterContract } from 'keyscope/testing';
import { serve as serveFetch } from './fetch.ts';
import type { Serve } from './served.ts';

type Fetch = (request: Request) => Promise<Response>;

interface Listening {
  readonly url: string;
  stop(): Promise<unknown>;
}

/** The parts of the runtimes' own APIs in use. */
interface Runtimes {
  readonly Bun: {
    serve(options: { port: number; hostname: string; fetch: Fetch }): {
      readonly url: URL;
      stop(force: boolean): Promise<unknown>;
    };
  };
  readonly Deno: {
    serve(
      options: { port: number; hostname: string; onListen: () => void },
      fetch: Fetch,
    ): { readonly addr: { readonly port: number }; shutdown(): Promise<void> };
  };
}

const runtimes = globalThis as unknown as Runtimes;
const hostname = '127.0.0.1';

function listenOnBun(fetch: Fetch): Listening {
  const server = runtimes.Bun.serve({ port: 0, hostname, fetch });
  return { url: server.url.href, stop: () => server.stop(true) };
}

function listenOnDeno(fetch: Fetch): Listening {
  const server = runtimes.Deno.serve({ port: 0, hostname, onListen: () => {} }, fetch);
  return { url: `http://${hostname}:${server.addr.port}`, stop: () => server.shutdown() };
}

/** A served adapter that answers fetch, behind the runtime's own server. */
function behind(listen: (fetch: Fetch) => Listening, serve: Serve): Serve {
  return async (setup, spy) => {
    const { fetch } = (await serve(setup, spy)) as ServedAdapter & { readonly fetch: Fetch };
    const { url, stop } = listen(fetch);
    return { url, close: stop };
  };
}

/** An app, and a function that ends it after the last test. */
interface App {
  readonly serve: Serve;
  stop?(): Promise<void>;
}

const APPS: Readonly<Record<string, () => Promise<App>>> = {
  bun: async () => ({ serve: behind(listenOnBun, serveFetch) }),
  deno: async () => ({ serve: behind(listenOnDeno, serveFetch) }),
  async elysia() {
    const { serve } = await import('./elysia.ts');
    return { serve: behind(listenOnBun, serve) };
  },
  async next() {
    const { startNext } = await import('./next.ts');
    return startNext({ joinDuplicateHeaders: false });
  },
  async 'next-joined'() {
    const { startNext } = await import('./next.ts');
    return startNext({ joinDuplicateHeaders: true });
  },
};

const start = APPS[process.argv[2] ?? ''];
if (start === undefined) throw new TypeError(`pass one of ${Object.keys(APPS).join(', ')}`);
const app = await start();

const tests: (readonly [name: string, run: () => Promise<void>])[] = [];
adapterContract(
  (name, run) => tests.push([name, run]),
  (setup) => app.serve(setup, { errors: [] }),
);
const found: Record<string, string | null> = {};
for (const [name, run] of tests) {
  found[name] = await run().then(
    () => null,
    (error: unknown) => String(error),
  );
}
await app.stop?.();
console.log(`FOUND ${JSON.stringify(found)}`);
process.exit();
