/** A load balancer that remembers no client: each request goes to the next server. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { listen, stop } from '../../examples/platform/host/listen.ts';

export interface AlternatingProxy {
  readonly origin: string;
  /** The servers, by origin. Add them before the first request. */
  readonly servers: string[];
  /** The requests so far: method, path and the server's number. */
  readonly passed: readonly string[];
  close(): Promise<void>;
}

/**
 * Opens a proxy at a free port.
 *
 * @param isFile Recognises the files of pages. They take turns among themselves, so that each page
 *   and each form goes to another server than the one before.
 */
export async function openAlternatingProxy(
  isFile: (path: string) => boolean,
): Promise<AlternatingProxy> {
  const servers: string[] = [];
  const passed: string[] = [];
  const turns = { file: 0, page: 0 };

  function pass(asked: IncomingMessage, res: ServerResponse): void {
    const { url = '', method = '', headers } = asked;
    const kind = isFile(url) ? 'file' : 'page';
    const number = turns[kind] % servers.length;
    turns[kind] += 1;
    if (kind === 'page') passed.push(`${method} ${url} ${number}`);
    const onward = request(`${servers[number]}${url}`, { method, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(res);
    });
    onward.on('error', () => res.destroy());
    asked.pipe(onward);
  }

  const server = createServer(pass);
  const { origin } = new URL(await listen(server, 0));
  return { origin, servers, passed, close: () => stop(server) };
}
