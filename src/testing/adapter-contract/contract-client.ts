/** The client of the contract: sends requests with a time-out, and searches answers for secrets. */
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

/** How tests send requests to one adapter. */
export interface AdapterClient {
  /** Whether header lines are sent separately, as they are. */
  readonly overHttp: boolean;
  readonly send: Send;
  /**
   * Runs `act` with a `Send` whose requests share one connection, one after another. Without
   * connections, that is `send`.
   */
  onOneConnection(act: (send: Send) => Promise<void>): Promise<void>;
}

/** How long a request may take, in milliseconds. */
const TIMEOUT_MS = 4_000;

/**
 * Makes the client of what `serve` returned.
 *
 * @throws TypeError if that is neither `{ url }` nor `{ fetch }`, or a `url` on a runtime without
 *   `node:http`.
 */
export function createClient(served: unknown, secrets: ReadonlyMap<string, string>): AdapterClient {
  // Unchecked: a wrong `serve` may return anything.
  const { url, fetch } = (served ?? {}) as { readonly url?: unknown; readonly fetch?: unknown };
  if (typeof url === 'string') return createHttpClient(url, secrets);
  assert(typeof fetch === 'function', 'adapterContract: serve must return { url } or { fetch }');
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
      check(!text.includes(secret), `the answer to ${what} contains ${kind}`);
    }
    return answer;
  };
}

/** Aborts the request and throws if there is no answer within {@link TIMEOUT_MS}. */
function inTime(what: string, act: (signal: AbortSignal) => Promise<Answer>): Promise<Answer> {
  const abort = new AbortController();
  return within(TIMEOUT_MS, act(abort.signal), () => {
    abort.abort();
    throw new Error(`${what} was not answered within ${TIMEOUT_MS} ms`);
  });
}

/** The fixture of one test. */
export interface AdapterFixture extends AdapterService, AdapterClient {}

/** Makes the fixture of one test. The adapter must have been served with this service. */
export function createAdapterFixture(
  service: AdapterService,
  served: ServedAdapter,
): AdapterFixture {
  return { ...service, ...createClient(served, service.secrets) };
}
