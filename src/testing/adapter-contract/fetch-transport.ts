/** Sends requests to an adapter that is a function from a fetch `Request` to a `Response`. */
import type { Awaitable } from '../../core/store.js';
import { check } from '../assertions.js';
import {
  type AdapterRequest,
  type HeaderLine,
  sortLines,
  type Transport,
} from './http-exchange.js';
import type { FetchAnswer } from './serve-adapter.js';

/** An adapter for a runtime that speaks fetch. */
export type FetchHandler = (request: Request) => Awaitable<FetchAnswer>;

/** Makes the transport. Two lines of one name reach the adapter joined, as in any fetch runtime. */
export function createFetchTransport(handler: FetchHandler): Transport {
  return async ({ method, path, lines, signal }: AdapterRequest) => {
    const headers = new Headers();
    for (const [name, value] of lines) {
      headers.append(name, value);
    }
    const request = new Request(`http://adapter.example${path}`, { method, headers, signal });
    const response = await callHandler(handler, request);
    check(
      typeof response?.text === 'function',
      `fetch must answer ${method} ${path} with a Response`,
    );
    const answered: HeaderLine[] = [];
    response.headers.forEach((value, name) => {
      answered.push([name.toLowerCase(), value]);
    });
    const body = await response.text();
    return { status: response.status, headers: sortLines(answered), body };
  };
}

async function callHandler(
  handler: FetchHandler,
  request: Request,
): Promise<FetchAnswer | undefined> {
  try {
    return await handler(request);
  } catch (error) {
    return internalError(error);
  }
}

/**
 * What a runtime answers if the app's function rejects; the error shows if another answer was
 * expected.
 */
function internalError(error: unknown): FetchAnswer {
  return {
    status: 500,
    headers: new Map<string, string>(),
    text: async () => `fetch rejected: ${String(error)}`,
  };
}
