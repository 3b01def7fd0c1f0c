/** The contract's client. It sends requests with a timeout and searches answers for secrets. */
import { assert } from '../../core/input.js';
import { within } from '../../core/thenable.js';
import { check } from '../assertions.js';
import { createFetchTransport, type FetchHandler } from './fetch-transport.js';
import type { AdapterRequest, Answer, HeaderLine, Transport } from './http-exchange.js';
import { createHttpTransport, readNodeHttp } from './http-transport.js';
import type { ServedAdapter } from './serve-adapter.js';
import type { AdapterService } from './service.js';

/** Sends one request. */
export type Send = (
  method: AdapterRequest['method'],
  path: string,
  ...lines: readonly HeaderLine[]
) => Promise<Answer>;

/** Sends requests to one adapter. */
export interface AdapterClient {
  /** Whether the transport sends each header line separately and unchanged. */
  readonly overHttp: boolean;
  readonly send: Send;
  /**
   * Runs `act` with a `Send` whose requests share one connection. If the transport has no
   * connections, that is plain `send`.
   */
  onOneConnection(act: (send: Send) => Promise<void>): Promise<void>;
}

/** How long a request may take, in milliseconds. */
const TIMEOUT_MS = 4_000;

/**
 * Makes a client for the app that `serve` returned.
 *
 * @throws TypeError if `serve` returned neither `{ url }` nor `{ fetch }`, or a `url` on a runtime
 *   without `node:http`.
 */
export function createClient(served: unknown, secrets: ReadonlyMap<string, string>): AdapterClient {
  // A wrong `serve` may return anything.
  const { url, fetch } = (served ?? {}) as { readonly url?: unknown; readonly fetch?: unknown };
  if (typeof url === 'string') return createHttpClient(url, secrets);
  assert(
    typeof fetch === 'function',
    'adapterContract: serve returned no url and no fetch. Return { url } or { fetch }',
  );
  const send = createSend(createFetchTransport(fetch as FetchHandler), secrets);
  return { overHttp: false, send, onOneConnection: (act) => act(send) };
}

function createHttpClient(url: string, secrets: ReadonlyMap<string, string>): AdapterClient {
  const http = readNodeHttp();
  const send = createSend(createHttpTransport(http, url, false), secrets);

  async function onOneConnection(act: (send: Send) => Promise<void>): Promise<void> {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    try {
      await act(createSend(createHttpTransport(http, url, agent), secrets));
    } finally {
      agent.destroy();
    }
  }

  return { overHttp: true, send, onOneConnection };
}

function createSend(transport: Transport, secrets: ReadonlyMap<string, string>): Send {
  return async (method, path, ...lines) => {
    const what = `${method} ${path}`;
    const answer = await inTime(what, (signal) => transport({ method, path, lines, signal }));
    const headers = answer.headers.map(([name, value]) => `${name}\n${value}`);
    const text = [...headers, answer.body].join('\n');
    for (const [secret, kind] of secrets) {
      check(!text.includes(secret), `${what}: the answer contains ${kind}`);
    }
    return answer;
  };
}

/** Aborts the request and throws if no answer arrives within {@link TIMEOUT_MS}. */
function inTime(what: string, act: (signal: AbortSignal) => Promise<Answer>): Promise<Answer> {
  const abort = new AbortController();
  return within(TIMEOUT_MS, act(abort.signal), () => {
    abort.abort();
    throw new Error(`${what}: no answer within ${TIMEOUT_MS} ms`);
  });
}

/** The fixture of one test. */
export interface AdapterFixture extends AdapterService, AdapterClient {}

/** Makes the fixture of one test. `served` must come from this service's setup. */
export function createAdapterFixture(
  service: AdapterService,
  served: ServedAdapter,
): AdapterFixture {
  return { ...service, ...createClient(served, service.secrets) };
}
