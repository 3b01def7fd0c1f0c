/** Sends requests to an app that is a function from a fetch `Request` to a `Response`. */
import type { Awaitable } from '../../core/store.js';
import { check } from '../assertions.js';
import {
  type AdapterRequest,
  type HeaderLine,
  sortLines,
  type Transport,
} from './http-exchange.js';
import type { FetchAnswer } from './serve-adapter.js';

/** An app for a fetch runtime. */
export type FetchHandler = (request: Request) => Awaitable<FetchAnswer>;

/** Makes a transport to a function. As in any fetch runtime, lines of one name arrive joined. */
export function createFetchTransport(handler: FetchHandler): Transport {
  return async ({ method, path, lines, signal }: AdapterRequest) => {
    const headers = new Headers();
    for (const [name, value] of lines) {
      headers.append(name, value);
    }
    const request = new Request(`http://adapter.example${path}`, { method, headers, signal });
    const response = await callHandler(handler, request);
    check(typeof response?.text === 'function', `${method} ${path}: fetch must return a Response`);
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
 * The answer of a runtime when the app's function rejects. Its body shows the error in the message
 * of a failed test.
 */
function internalError(error: unknown): FetchAnswer {
  return {
    status: 500,
    headers: new Map<string, string>(),
    text: async () => `fetch rejected: ${String(error)}`,
  };
}
