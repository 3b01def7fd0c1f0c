/** Sends requests over `node:http`, which keeps header lines separate. */
import { assert } from '../../core/input.js';
import { type Answer, type HeaderLine, sortLines, type Transport } from './http-exchange.js';

// The part of `node:http` that we use. Importing its types would make every user install them.

/** An answer whose body is still unread. */
interface NodeResponse extends AsyncIterable<string> {
  readonly statusCode?: number;
  /** Names and values, alternately. */
  readonly rawHeaders: readonly string[];
  setEncoding(encoding: 'utf8'): unknown;
}

/** A request in progress. */
interface NodeRequest {
  on(event: 'error', listener: (error: unknown) => void): unknown;
  end(): unknown;
}

/** Keeps connections open for several requests. */
export interface NodeAgent {
  destroy(): unknown;
}

/** The module `node:http`. */
export interface NodeHttp {
  readonly Agent: new (options: object) => NodeAgent;
  request(url: string, options: object, answered: (response: NodeResponse) => void): NodeRequest;
}

/** The runtime's `process`, if it has one. It returns modules without an import. */
interface Process {
  getBuiltinModule?(id: 'node:http'): NodeHttp | undefined;
}

/** Returns `node:http`. An import would break runtimes that lack the module and use fetch. */
export function readNodeHttp(): NodeHttp {
  const { process } = globalThis as { readonly process?: Process };
  const http = process?.getBuiltinModule?.('node:http');
  assert(
    http !== undefined,
    'adapterContract: this runtime lacks node:http, which { url } needs (Node 20.16 or later, ' +
      'Bun, Deno). Return { fetch } from serve',
  );
  return http;
}

/**
 * Makes a transport over HTTP. It does not use `fetch`, which joins lines of the same name. Without
 * an agent, each request opens and closes its own connection.
 */
export function createHttpTransport(
  http: NodeHttp,
  url: string,
  agent: NodeAgent | false,
): Transport {
  const base = url.replace(/\/$/, '');
  return ({ method, path, lines, signal }) => {
    const headers = headerLists(lines);
    return new Promise((resolve, reject) => {
      const options = { method, headers, signal, agent };
      const request = http.request(base + path, options, (response) => {
        readAnswer(response).then(resolve, reject);
      });
      request.on('error', reject);
      request.end();
    });
  };
}

/** Groups the values of each name, because `node:http` sends a list as one line per value. */
function headerLists(lines: readonly HeaderLine[]): Readonly<Record<string, readonly string[]>> {
  const lists: Record<string, readonly string[]> = {};
  for (const [name, value] of lines) {
    lists[name] = [...(lists[name] ?? []), value];
  }
  return lists;
}

async function readAnswer(response: NodeResponse): Promise<Answer> {
  const { statusCode = 0, rawHeaders } = response;
  const lines: HeaderLine[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    lines.push([name.toLowerCase(), rawHeaders[index + 1] ?? '']);
  }
  response.setEncoding('utf8');
  let body = '';
  for await (const part of response) {
    body += part;
  }
  return { status: statusCode, headers: sortLines(lines), body };
}
